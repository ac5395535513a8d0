import type { ErasedUser, FormFactToPublish } from '@nextvisit/consumer'
import type { UserRef } from '@nextvisit/contracts'
import { type AnswerStates, EMPTY_PROFILE, NO_ANSWERS, type Profile, type SegmentedUser } from '@nextvisit/domain'
import type { ProjectSegments } from './project-segments.ts'

/** A user whom a batch loads and changes. */
export interface DraftUser extends UserRef, SegmentedUser {
  readonly partition: number
  /** undefined: the user was never identified. */
  userName?: string
  /** Number of operations that a limit dropped (decisions.md, Identify). */
  droppedTraitOperations: number
  /** From the catalog at the time of the load: it may change before the batch is folded. */
  readonly segments: ProjectSegments
  /** The stored rows. No fingerprint: there was no row. */
  stored: {
    readonly fingerprint?: string
    readonly memberships: ReadonlyMap<string, number>
    readonly traits?: Profile['traits']
    readonly answers: AnswerStates
  }
  /** The counts of events to write. */
  readonly changedCounts: Set<string>
}

/** The users that a batch touches, by `userKeyOf`. */
export interface Draft {
  readonly users: Map<string, DraftUser>
  /** The core folds no other record of these users with them. */
  readonly erased: ErasedUser[]
  /** Number of records. A tick has none. */
  readonly records: number
  /** Changed memberships for `form-events`, in order. */
  readonly changes: FormFactToPublish[]
  /** Numbers of the batch's operations without effect, for metrics. */
  skippedOperations: number
  droppedOperations: number
}

export function emptyDraft(records = 0): Draft {
  return { users: new Map(), erased: [], records, changes: [], skippedOperations: 0, droppedOperations: 0 }
}

export function newUser(
  { organization, project, userId }: UserRef,
  partition: number,
  segments: ProjectSegments,
): DraftUser {
  return {
    organization,
    project,
    userId,
    partition,
    segments,
    profile: EMPTY_PROFILE,
    droppedTraitOperations: 0,
    computed: { fingerprint: '', asOf: undefined, changesAt: undefined },
    events: new Map(),
    answers: NO_ANSWERS,
    memberships: new Map(),
    stored: { memberships: new Map(), answers: NO_ANSWERS },
    isChanged: false,
    changedCounts: new Set(),
  }
}
