import type {
  ErrorBody,
  IdentifyItem,
  IdentifyUserAnswer,
  RefusalStatus,
  TrackEventAnswer,
  TrackItem,
  UserAnswer,
} from './api-types.ts'

/** Who a user is. `idempotencyKey`: calls with the same one and the same members count once in 24 hours. Default: a new one. */
export type IdentifyCall = Omit<IdentifyItem, 'type'>
/** What a user did. `idempotencyKey`: calls with the same one and the same members count once in 24 hours. Default: a new one. */
export type TrackCall = Omit<TrackItem, 'type'>

/** The user exists, and the operations on traits are recorded. */
export type Identified = { readonly status: 200 } & IdentifyUserAnswer
/** The event is recorded. */
export type Tracked = { readonly status: 202 } & TrackEventAnswer
/** What is known about a user. */
export type FoundUser = { readonly status: 200 } & UserAnswer
/** Nothing was recorded, and the same call would be refused again. `message` says what would be right. */
export type Refusal = { readonly status: RefusalStatus } & Omit<ErrorBody, 'status'>

export type IdentifyResult = Identified | Refusal
export type TrackResult = Tracked | Refusal
export type UserResult = FoundUser | Refusal
