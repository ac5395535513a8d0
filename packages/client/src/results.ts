import type {
  ErrorBody,
  IdentifyItem,
  IdentifyUserAnswer,
  RefusalStatus,
  TrackEventAnswer,
  TrackItem,
  UserAnswer,
} from './api-types.ts'

/** An identify. `idempotencyKey`: calls with the same key and members count once in 24 hours. Default: a new key. */
export type IdentifyCall = Omit<IdentifyItem, 'type'>
/** A tracked event. `idempotencyKey`: calls with the same key and members count once in 24 hours. Default: a new key. */
export type TrackCall = Omit<TrackItem, 'type'>

/** Result of a recorded identify: the user exists. */
export type Identified = { readonly status: 200 } & IdentifyUserAnswer
/** Result of a recorded event. */
export type Tracked = { readonly status: 202 } & TrackEventAnswer
/** Result of reading a user. */
export type FoundUser = { readonly status: 200 } & UserAnswer
/**
 * Result of a refused call: nothing was recorded, and the same call would be refused again. `message` states the
 * accepted form.
 */
export type Refusal = { readonly status: RefusalStatus } & Omit<ErrorBody, 'status'>

export type IdentifyResult = Identified | Refusal
export type TrackResult = Tracked | Refusal
export type UserResult = FoundUser | Refusal
