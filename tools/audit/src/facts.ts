import { uuidV5 } from './uuid-v5.ts'

/**
 * The records of the log as the auditor reads them. Declared here a second time on purpose: where the services parse with
 * a wrong schema, the auditor must not use the same one.
 */
export interface ProjectRef {
  readonly organization: string
  readonly project: string
}

export type Scalar = string | number | boolean | null
export type Value = Scalar | readonly Scalar[]

export interface Operations {
  readonly set?: Readonly<Record<string, Value>>
  readonly setOnce?: Readonly<Record<string, Value>>
  readonly increment?: Readonly<Record<string, number>>
  readonly decrement?: Readonly<Record<string, number>>
  readonly unset?: readonly string[]
}

interface OfUser extends ProjectRef {
  readonly id: string
  readonly userId: string
  /** ISO, UTC, milliseconds: instants compare as text. */
  readonly received: string
}

interface OfCaller extends OfUser {
  readonly environment: 'P' | 'T'
  readonly source: 'admin' | 'sdk'
  readonly keyed: boolean
  readonly userName: string
  /** History: it fills in what is unknown, and is not metered (docs/spec/decisions.md, Import). */
  readonly imported?: true
}

export interface Identified extends OfCaller {
  readonly type: 'IdentifyRequested'
  readonly operations: Operations
  readonly device: Readonly<Record<string, string>>
  readonly registeredTraits: readonly string[]
  /** Only for imported records. */
  readonly occurredAt?: string
}

export interface Tracked extends OfCaller {
  readonly type: 'EventTracked'
  readonly eventName: string
  readonly slug: string
  readonly occurredAt: string
  readonly newEvent: boolean
  readonly metered: boolean
  /** Judged by the gateway, once: it was not too old when it was received. */
  readonly evaluateTriggers: boolean
  /** What the caller says about the event. */
  readonly properties?: Readonly<Record<string, unknown>>
  /** Hashes of the counts by properties that it counts for. */
  readonly countsFor?: readonly string[]
}

export interface Visited extends OfUser {
  readonly type: 'VisitAnswered'
  readonly visitId: string
  readonly formId: string
  readonly queuedId: string
}

/** On `user-events`. */
export type UserFact = Identified | Tracked | Visited

interface OfForm extends ProjectRef {
  readonly id: string
  readonly userId: string
  readonly queuedId: string
  readonly formId: string
  readonly at: string
}

export interface Queued extends OfForm {
  readonly type: 'FormQueued'
  readonly causeId: string
  readonly priority: number
  readonly showFrom: string
  readonly expiresAt?: string
  readonly catalogRevision: number
}

export interface Delivered extends OfForm {
  readonly type: 'FormDelivered'
  readonly visitId: string
}

/** On `form-events`. */
export type FormFact = Queued | Delivered | (OfForm & { readonly type: 'FormCancelled' | 'FormExpired' })

/** What names the rows of a user. */
export interface UserRef extends ProjectRef {
  readonly userId: string
}

/** Ids hold no `/`. */
export function userKey({ organization, project, userId }: UserRef): string {
  return `${organization}/${project}/${userId}`
}

/** Whether this record put the form into its user's queue: the row's id says so (docs/spec/forms.md, The queue). */
export function isQueuedBy(queued: Queued, record: UserFact): boolean {
  const { queuedId, formId } = queued
  return userKey(queued) === userKey(record) && queuedId === uuidV5(`${record.received}/${formId}`, record.id)
}
