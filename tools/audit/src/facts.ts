import { uuidV5 } from './uuid-v5.ts'

/**
 * Types of the log's records for the auditor. They are deliberately declared again: if the services parse with a wrong
 * schema, the auditor must not use the same one.
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
  /** Instant in ISO format, UTC, with milliseconds, so that instants compare as text. */
  readonly received: string
}

interface OfCaller extends OfUser {
  readonly environment: 'P' | 'T'
  readonly source: 'admin' | 'sdk'
  readonly keyed: boolean
  /** True for imported history, which fills in unknown values and is not metered (decisions.md, Import). */
  readonly imported?: true
}

export interface IdentifyRequested extends OfCaller {
  readonly type: 'IdentifyRequested'
  readonly userName: string
  /** Slugs that the operations register. */
  readonly traits: readonly string[]
  readonly operations: Operations
  readonly device: Readonly<Record<string, string>>
  readonly registeredTraits: readonly string[]
  /** Time of the identify, only in imported records. */
  readonly occurredAt?: string
}

export interface EventTracked extends OfCaller {
  readonly type: 'EventTracked'
  readonly eventName: string
  readonly slug: string
  readonly occurredAt: string
  readonly newEvent: boolean
  readonly metered: boolean
  /** The gateway's verdict that the event was not too old when it was received. */
  readonly evaluateTriggers: boolean
  /** The caller's data about the event. */
  readonly properties?: Readonly<Record<string, unknown>>
  /** Hashes of the property counts that the event counts for. */
  readonly countsFor?: readonly string[]
}

export interface VisitAnswered extends OfUser {
  readonly type: 'VisitAnswered'
  readonly visitId: string
  readonly formId: string
  readonly queuedId: string
}

/** A record on `user-events`. */
export type UserFact = IdentifyRequested | EventTracked | VisitAnswered

interface OfForm extends ProjectRef {
  readonly id: string
  readonly userId: string
  readonly queuedId: string
  readonly formId: string
  readonly at: string
}

export interface FormQueued extends OfForm {
  readonly type: 'FormQueued'
  readonly causeId: string
  readonly priority: number
  readonly showFrom: string
  readonly expiresAt?: string
  readonly catalogRevision: number
}

export interface FormDelivered extends OfForm {
  readonly type: 'FormDelivered'
  readonly visitId: string
}

/** A record on `form-events`. */
export type FormFact = FormQueued | FormDelivered | (OfForm & { readonly type: 'FormCancelled' | 'FormExpired' })

/** Identity of a user's rows. */
export interface UserRef extends ProjectRef {
  readonly userId: string
}

/** Returns the key of a user's rows. Ids contain no `/`. */
export function userKey({ organization, project, userId }: UserRef): string {
  return `${organization}/${project}/${userId}`
}

/** Returns whether this record queued the form, according to the row's id (forms.md, The queue). */
export function isQueuedBy(queued: FormQueued, record: UserFact): boolean {
  const { queuedId, formId } = queued
  return userKey(queued) === userKey(record) && queuedId === uuidV5(`${record.received}/${formId}`, record.id)
}
