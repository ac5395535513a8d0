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

interface OfRequest extends OfUser {
  readonly environment: 'P' | 'T'
  readonly source: 'admin' | 'sdk'
  readonly keyed: boolean
}

interface OfCaller extends OfRequest {
  /** True for imported history, which fills in unknown values and is not metered (decisions.md, Import). */
  readonly imported?: true
  /** The members that describe the person, encrypted with a key of the user (records.md, Sealed members). */
  readonly sealed?: Sealed
}

export interface Sealed {
  /** Id of the user's key: a UUIDv7, whose time is that of its creation. */
  readonly key: string
  /** Nonce, tag and ciphertext in base64. */
  readonly bytes: string
}

/** An identify without the members that describe the person. */
export interface ClearIdentify extends OfCaller {
  readonly type: 'IdentifyRequested'
  /** Slugs that the operations set or add to. */
  readonly traits: readonly string[]
  readonly registeredTraits: readonly string[]
  /** Time of the identify, only in imported records. */
  readonly occurredAt?: string
}

export interface IdentifyRequested extends ClearIdentify {
  readonly userName: string
  readonly operations: Operations
  readonly device: Readonly<Record<string, string>>
}

/** An event without its properties. */
export interface ClearEvent extends OfCaller {
  readonly type: 'EventTracked'
  readonly eventName: string
  readonly slug: string
  readonly occurredAt: string
  readonly newEvent: boolean
  readonly metered: boolean
  /** The gateway's verdict that the event was not too old when it was received. */
  readonly evaluateTriggers: boolean
  /** Hashes of the property counts that the event counts for. */
  readonly countsFor?: readonly string[]
}

export interface EventTracked extends ClearEvent {
  /** The caller's data about the event. */
  readonly properties?: Readonly<Record<string, unknown>>
}

/** An answer to a form without the answers themselves. */
export interface ClearAnswer extends OfRequest {
  readonly type: 'AnswerGiven'
  readonly offerId: string
  readonly formId: string
  readonly revision: number
  readonly status: 'partial' | 'finished' | 'dismissed'
  readonly language?: string | undefined
  /** The answered elements, with their types. */
  readonly elements: Readonly<Record<string, string>>
  /** In the log, every answer has them. */
  readonly sealed?: Sealed
}

/** An answer to an element. */
export type AnswerValue =
  | number
  | boolean
  | string
  | { readonly other: string }
  | readonly (string | { readonly other: string })[]

export interface AnswerGiven extends ClearAnswer {
  /** By element. */
  readonly answers: Readonly<Record<string, AnswerValue>>
}

export interface VisitAnswered extends OfUser {
  readonly type: 'VisitAnswered'
  readonly environment: 'P' | 'T'
  readonly visitId: string
  readonly formId: string
  readonly queuedId: string
  readonly revision?: number
  readonly language?: string
}

/** The fence of an erasure: the user's records before it no longer count (records.md, UserErased). */
export interface UserErased extends OfUser {
  readonly type: 'UserErased'
  readonly erasureId: string
  /** Records that are sealed with a key of this instant or an earlier one do not count, wherever they are in the log. */
  readonly keysUntil: string
}

/** A record on `user-events`, as the log contains it. */
export type ClearFact = ClearIdentify | ClearEvent | ClearAnswer | VisitAnswered | UserErased

/** A record on `user-events` that changes a user, with its opened members. */
export type UserFact = IdentifyRequested | EventTracked | AnswerGiven | VisitAnswered

interface OfForm extends ProjectRef {
  readonly id: string
  readonly userId: string
  readonly queuedId: string
  readonly formId: string
  readonly at: string
  /** Id of the record that queued the row. Earlier versions wrote it in `FormQueued` alone. */
  readonly causeId?: string
  /** Offset of that record in the user's partition of `user-events`, if known. */
  readonly causeOffset?: number
}

export interface FormQueued extends OfForm {
  readonly type: 'FormQueued'
  readonly environment: 'P' | 'T'
  readonly causeId: string
  readonly priority: number
  readonly showFrom: string
  readonly expiresAt?: string
  readonly catalogRevision: number
}

export interface FormDelivered extends OfForm {
  readonly type: 'FormDelivered'
  readonly environment: 'P' | 'T'
  readonly visitId: string
  readonly revision?: number
  readonly language?: string
}

/** The effect of an answer on its row. It has the id and the sealed answers of the `AnswerGiven`. */
export interface FormAnswered extends OfForm {
  readonly type: 'FormAnswered'
  readonly outcome: 'recorded' | 'late' | 'unmatched'
  readonly status: 'partial' | 'finished' | 'dismissed'
  readonly revision: number
  readonly language?: string
  readonly environment: 'P' | 'T'
  readonly elements: Readonly<Record<string, string>>
  readonly sealed: Sealed
}

/** Tells readers of `form-events` about an erasure. The cause of a row decides whether it is erased. */
export interface QueueErased extends ProjectRef {
  readonly type: 'QueueErased'
  readonly id: string
  readonly userId: string
  readonly at: string
  readonly erasureId: string
  /** Offset of the `UserErased` in the user's partition of `user-events`. */
  readonly causeOffset?: number
  readonly keysUntil: string
}

/** A request to erase users, on `erasures`. `id`: the erasureId. */
export interface ErasureRequested extends ProjectRef {
  readonly type: 'ErasureRequested'
  readonly id: string
  readonly received: string
  /** If the newest key of a user is later than `received`. */
  readonly newestKeyAt?: string
  readonly userIds: readonly string[]
  readonly unknown: number
  readonly suppress: boolean
}

/** Every store has finished an erasure. */
export interface ErasureCompleted extends ProjectRef {
  readonly type: 'ErasureCompleted'
  readonly erasureId: string
  readonly at: string
  /** JSON. */
  readonly receipt: string
}

/** A record on `erasures`. */
export type ErasureFact = ErasureRequested | ErasureCompleted | { readonly type: 'SuppressionLifted' }

/** A record on `form-events` about a row of the queue. */
export type FormFact =
  | FormQueued
  | FormDelivered
  | FormAnswered
  | (OfForm & { readonly type: 'FormCancelled' | 'FormExpired' })

/** A record of the user projector on `form-events`: a user became a member of a segment, or is none any more. */
export interface SegmentFact extends ProjectRef {
  readonly type: 'SegmentEntered' | 'SegmentLeft'
  readonly id: string
  readonly userId: string
  readonly segmentId: string
  readonly at: string
  readonly cause: 'record' | 'time' | 'definition'
  readonly causeId?: string
  /** Offset of the cause in the user's partition of `user-events`: an erasure at a later one ends the membership without a record. */
  readonly causeOffset: number
  readonly catalogRevision: number
}

/** A record on `form-events`. */
export type DecidedFact = FormFact | QueueErased | SegmentFact

export function isSegmentFact(fact: DecidedFact): fact is SegmentFact {
  return fact.type === 'SegmentEntered' || fact.type === 'SegmentLeft'
}

/** Identity of a user's rows. */
export interface UserRef extends ProjectRef {
  readonly userId: string
}

/** Returns the key of a user's rows. Ids contain no `/`. */
export function userKey({ organization, project, userId }: UserRef): string {
  return `${organization}/${project}/${userId}`
}

/** Returns the key of the user that the key of a row begins with. */
export function userKeyIn(key: string): string {
  return key.split('/', 3).join('/')
}

/** Returns whether this record queued the form, according to the row's id (forms.md, The queue). */
export function isQueuedBy(queued: FormQueued, record: ClearFact): boolean {
  const { queuedId, formId } = queued
  return userKey(queued) === userKey(record) && queuedId === uuidV5(`${record.received}/${formId}`, record.id)
}
