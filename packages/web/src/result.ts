import type { AnswerStatus, Offer } from '@nextvisit/contracts/shown-form'

/** Outcome of a request. */
export type Result<Answer> =
  | { readonly outcome: 'answered'; readonly answer: Answer }
  /** A retry would be refused, too. `status` is the HTTP status; 0 if the request was not JSON. */
  | { readonly outcome: 'refused'; readonly status: number; readonly message: string }
  | { readonly outcome: 'unanswered'; readonly reason: UnansweredReason }

/**
 * `unreachable`: the gateway gave no final answer while the request was tried.
 * `closed`: `close()` was called, or there is no page.
 * `full`: 100 events of the user are already waiting.
 * `replaced`: a later answer to the offer has all elements of this partial one, which the gateway did not have yet.
 */
export type UnansweredReason = 'unreachable' | 'closed' | 'full' | 'replaced'

/** Returns the outcome of a request that is not JSON. */
export function refusedBy(error: unknown): {
  readonly outcome: 'refused'
  readonly status: 0
  readonly message: string
} {
  return { outcome: 'refused', status: 0, message: (error as Error).message }
}

/** Outcome of one try of a request. `failed`: the same request may be sent again, no sooner than `retryAfterMs`. */
export type Attempt<Answer> =
  | Exclude<Result<Answer>, { readonly outcome: 'unanswered' }>
  | { readonly outcome: 'failed'; readonly retryAfterMs: number }

/** Answer to a visit. Times are in seconds. */
export interface VisitAnswer {
  readonly message: 'ok'
  readonly userId: string
  /** The form to show. {@link Nextvisit.onForm} gets it, too. */
  readonly nextFeedbackId?: string | undefined
  readonly nextFeedback?: Offer | undefined
  readonly pingAgainIn: number
  readonly pingOnNextPageVisit: boolean
  readonly onPageDelay: number
}

/** Answer to a tracked event. */
export interface TrackAnswer {
  /** Id of the record. */
  readonly requestId: string
  /** Recorded time of the event, UTC. */
  readonly occurredAt: string
  readonly newEvent: boolean
  readonly triggersEvaluated: boolean
  /** Number of forms that this event queued for the user's next visit. */
  readonly formsQueued: number
  readonly message: string
}

/** Answer to answers of the user. */
export interface AnswersAnswer {
  /** Id of the record. */
  readonly requestId: string
  readonly status: AnswerStatus
  readonly message: string
}
