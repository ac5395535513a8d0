/** What became of a request. */
export type Result<Answer> =
  | { readonly outcome: 'answered'; readonly answer: Answer }
  /** Sending it again would not help. `status` is of HTTP; 0 if it could not be made JSON. */
  | { readonly outcome: 'refused'; readonly status: number; readonly message: string }
  | { readonly outcome: 'unanswered'; readonly reason: UnansweredReason }

/**
 * `unreachable`: the gateway did not answer, or asked to come again, for as long as the request was tried.
 * `closed`: `close()` was called, or there is no page.
 * `full`: 100 events wait already.
 */
export type UnansweredReason = 'unreachable' | 'closed' | 'full'

/** One try of a request: `failed` means that the same request may be sent again, no sooner than `retryAfterMs`. */
export type Attempt<Answer> =
  | Exclude<Result<Answer>, { readonly outcome: 'unanswered' }>
  | { readonly outcome: 'failed'; readonly retryAfterMs: number }

/** The answer to a visit. Times in seconds. */
export interface VisitAnswer {
  readonly message: 'ok'
  readonly userId: string
  /** The form to show. {@link Nextvisit.onForm} gets it, too. */
  readonly nextFeedbackId?: string | undefined
  readonly pingAgainIn: number
  readonly pingOnNextPageVisit: boolean
  readonly onPageDelay: number
}

/** The answer to a tracked event. */
export interface TrackAnswer {
  /** The id of the record. */
  readonly requestId: string
  /** The time that the event was recorded with, UTC. */
  readonly occurredAt: string
  readonly newEvent: boolean
  readonly triggersEvaluated: boolean
  /** How many forms this event queued for the user's next visit. */
  readonly formsQueued: number
  readonly message: string
}
