import type { CatalogProject, CatalogView } from '@nextvisit/catalog'
import type { AddressedReply } from '@nextvisit/consumer'
import type { EvaluatorReply, GateOutcome, GateReason, ProjectRef, Trigger, UserRef } from '@nextvisit/contracts'
import {
  EMPTY_QUEUE,
  NO_PROFILE,
  projectKeyOf,
  type Queue,
  type QueueChange,
  stepsOf,
  type StepTaken,
  type UserActivity,
} from '@nextvisit/domain'
import type { QueueFact } from './queue-rows.ts'

/** A user as a batch finds and changes them; it is the `UserState` that the rules look at. */
export interface DraftUser extends UserRef, UserActivity {
  /** Of `user-events`: all facts of a user share it. */
  readonly partition: number
  queue: Queue
  /** The queue as it was stored: rows that differ from it must be written. */
  storedQueue: Queue
  /** The traits as they were stored: others must be written. Absent: there was no row. */
  storedTraits?: UserActivity['traits']
  /** Whether anything but the queue and the counts of events must be written. */
  isChanged: boolean
  /** The counts that must be written. */
  readonly changedCounts: Set<string>
}

/** Why a form did, or did not, reach a user. */
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

/** The reply to a record whose request had an `Idempotency-Key`, for its duplicates. */
export interface IdempotentOutcome {
  readonly partition: number
  /** ISO, of the record. */
  readonly received: string
  readonly reply: EvaluatorReply
}

/** What a batch makes of the users it touches. */
export interface FormsDraft {
  /**
   * The projects as the catalog had them when the batch began, by `projectKeyOf`. The catalog may change meanwhile;
   * rows were loaded for these.
   */
  readonly projects: Map<string, CatalogProject | undefined>
  readonly users: Map<string, DraftUser>
  /** The last for each user and form. */
  readonly decisions: Map<string, DecisionRow>
  /** For `form-events`, in order. */
  readonly facts: QueueFact[]
  readonly replies: AddressedReply[]
  /** For figures. */
  readonly steps: StepTaken[]
  /** By record id. */
  readonly outcomes: Map<string, IdempotentOutcome>
}

export function emptyDraft(): FormsDraft {
  return {
    projects: new Map(),
    users: new Map(),
    decisions: new Map(),
    facts: [],
    replies: [],
    steps: [],
    outcomes: new Map(),
  }
}

export function newUser({ organization, project, userId }: UserRef, partition: number): DraftUser {
  return {
    organization,
    project,
    userId,
    partition,
    ...NO_PROFILE,
    events: new Map(),
    queue: EMPTY_QUEUE,
    storedQueue: EMPTY_QUEUE,
    isChanged: false,
    changedCounts: new Set(),
  }
}

/** The fact's project, as the catalog had it when this batch first asked. */
export function projectOf(
  { projects }: FormsDraft,
  fact: ProjectRef,
  catalog: CatalogView,
): CatalogProject | undefined {
  const key = projectKeyOf(fact)
  if (!projects.has(key)) projects.set(key, catalog.project(fact.organization, fact.project))
  return projects.get(key)
}

/** Moves a user's queue on, and publishes what happened to it. */
export function changeQueue({ facts, steps }: FormsDraft, user: DraftUser, change: QueueChange): void {
  steps.push(...stepsOf(change, user.queue))
  user.queue = change.queue
  facts.push(...change.facts.map((fact) => ({ fact, partition: user.partition })))
}
