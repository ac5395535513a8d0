import type { CatalogProject, CatalogView } from '@nextvisit/catalog'
import type { AddressedReply, ErasedUser, FormFactToPublish, Recorded } from '@nextvisit/consumer'
import type { GateOutcome, GateReason, ProjectRef, Trigger, UserRef } from '@nextvisit/contracts'
import type { NewRow } from '@nextvisit/database'
import {
  type AnswerStates,
  EMPTY_QUEUE,
  EMPTY_PROFILE,
  NO_ANSWERS,
  type Profile,
  projectKeyOf,
  type Queue,
  type QueueChange,
  type UserState,
} from '@nextvisit/domain'
import type { StoppedForm } from './gate-counts.ts'
import type { idempotentOutcomes } from './tables.ts'

/** A user whom a batch loads and changes. */
export interface DraftUser extends UserRef, UserState {
  /** The partition of `user-events` that all facts of the user share. */
  readonly partition: number
  /** The stored queue: rows that differ from it must be written. */
  storedQueue: Queue
  /** The stored answers: states that differ from them must be written. */
  storedAnswers: AnswerStates
  /** The stored traits. Other traits must be written. Absent: there was no row. */
  storedTraits?: Profile['traits']
  /** True if columns of the user's row must be written. The queue and the counts of events are in other tables. */
  isChanged: boolean
  /** The counts to write. */
  readonly changedCounts: Set<string>
}

/** The reason why a form did, or did not, reach a user. */
export interface DecisionRow extends UserRef {
  readonly formId: string
  readonly outcome: 'queued' | GateReason
  readonly recordId: string
  /** ISO. */
  readonly decidedAt: string
  readonly catalogRevision: number
  readonly trigger: Trigger
  readonly gates: readonly GateOutcome[]
}

/** The users that a batch touches, and the results of its records. */
export interface Draft {
  /**
   * The projects from the catalog at the beginning of the batch, by `projectKeyOf`. The catalog may change meanwhile, but
   * rows were loaded for these.
   */
  readonly projects: Map<string, CatalogProject | undefined>
  readonly users: Map<string, DraftUser>
  /** The core folds no other record of these users with them. */
  readonly erased: ErasedUser[]
  /** The last decision for each user and form. */
  readonly decisions: Map<string, DecisionRow>
  /** Facts for `form-events`, in order. */
  readonly facts: FormFactToPublish[]
  readonly replies: AddressedReply[]
  /** Steps of forms, for figures. */
  readonly stopped: StoppedForm[]
  /** The replies to records whose requests had an `Idempotency-Key`, for their duplicates. */
  readonly outcomes: NewRow<typeof idempotentOutcomes>[]
}

export function emptyDraft(): Draft {
  return {
    projects: new Map(),
    users: new Map(),
    erased: [],
    decisions: new Map(),
    facts: [],
    replies: [],
    stopped: [],
    outcomes: [],
  }
}

export function newUser({ organization, project, userId }: UserRef, partition: number): DraftUser {
  return {
    organization,
    project,
    userId,
    partition,
    profile: EMPTY_PROFILE,
    events: new Map(),
    answers: NO_ANSWERS,
    storedAnswers: NO_ANSWERS,
    queue: EMPTY_QUEUE,
    storedQueue: EMPTY_QUEUE,
    isChanged: false,
    changedCounts: new Set(),
  }
}

/** Returns the fact's project as the catalog had it when the batch first asked for it. */
export function projectOf({ projects }: Draft, fact: ProjectRef, catalog: CatalogView): CatalogProject | undefined {
  const key = projectKeyOf(fact)
  if (!projects.has(key)) projects.set(key, catalog.project(fact.organization, fact.project))
  return projects.get(key)
}

/** Changes a user's queue, and collects the facts of the change, in the trace of the record that caused it. */
export function changeQueue(
  { facts }: Draft,
  user: DraftUser,
  change: QueueChange,
  { traceparent }: Pick<Recorded<unknown>, 'traceparent'>,
): void {
  user.queue = change.queue
  facts.push(...change.facts.map((fact) => ({ fact, partition: user.partition, traceparent })))
}
