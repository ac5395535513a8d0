import type { UserRef } from '@nextvisit/contracts'
import type { FoldedUser, FollowedUser } from '@nextvisit/domain'
import type { ProjectSegments } from './project-segments.ts'

/** A user as a batch finds and changes them. */
export interface DraftUser extends UserRef, FollowedUser {
  readonly partition: number
  /** As the catalog had them when the batch was loaded: it may move on before the batch is folded. */
  readonly segments: ProjectSegments
  /** As the rows had it; without a fingerprint there was no row. */
  stored: {
    readonly fingerprint?: string
    readonly memberships: ReadonlyMap<string, number>
    readonly traits?: FoldedUser['traits']
  }
  /** The counts of events that must be written. */
  readonly changedCounts: Set<string>
}

/** What a batch makes of the users it touches, by `userKeyOf`. */
export interface UserDraft {
  readonly users: Map<string, DraftUser>
  skippedIncrements: number
  /** Operations that were dropped because of a limit. */
  droppedTraitOperations: number
}

export function emptyDraft(): UserDraft {
  return { users: new Map(), skippedIncrements: 0, droppedTraitOperations: 0 }
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
    clock: { fingerprint: '', asOf: undefined, changesAt: undefined },
    events: new Map(),
    memberships: new Map(),
    stored: { memberships: new Map() },
    isChanged: false,
    changedCounts: new Set(),
  }
}
