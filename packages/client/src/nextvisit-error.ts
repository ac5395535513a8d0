import type { IdentifyItem, TrackItem } from './api-types.ts'

/** A call as sent, with its idempotency key. */
export type CallItem = (IdentifyItem | TrackItem) & { readonly idempotencyKey: string }

/**
 * Reasons for a missing answer:
 *
 * - `UNANSWERED`: the gateway gave no final answer until the deadline. The call may have been recorded.
 * - `QUEUE_FULL`: `maxQueued` calls are already waiting, or there are `maxQueuedBytes` of them. Nothing was sent.
 * - `CLOSED`: `close()` was called before. Nothing was sent.
 * - `INVALID`: an argument is invalid, such as a host without `https://`. The message names it. Nothing was sent.
 * - `NOT_JSON`: a value is not JSON, such as NaN or a Map, or cannot be serialized, such as a BigInt. The message names the
 *   member. Nothing was sent.
 * - `UNSENT`, of `flush` and `close`: at least one call got no answer.
 */
export type NextvisitErrorCode = 'UNANSWERED' | 'QUEUE_FULL' | 'CLOSED' | 'INVALID' | 'NOT_JSON' | 'UNSENT'

/** Error of a call without an answer. A refusal by the gateway is a result, not an error. */
export class NextvisitError extends Error {
  override readonly name = 'NextvisitError'
  readonly code: NextvisitErrorCode
  /** True if the same call may succeed later. */
  readonly retryable: boolean
  #items: Items

  constructor(code: NextvisitErrorCode, message: string, items: Items = [], cause?: unknown) {
    super(message, cause === undefined ? undefined : { cause })
    this.code = code
    this.retryable = code !== 'CLOSED' && code !== 'INVALID' && code !== 'NOT_JSON'
    this.#items = items
  }

  /** Calls without an answer. Each has its `idempotencyKey`, so calling it again counts once. */
  get items(): readonly CallItem[] {
    if (typeof this.#items === 'function') this.#items = this.#items()
    return this.#items
  }
}

/** Calls, or a function that parses them. After an outage there are many errors, and calls take several times their JSON. */
type Items = readonly CallItem[] | (() => readonly CallItem[])

/** Creates an `UNANSWERED` error. `lastFailure`: the failure of the latest try, if there was one. */
export function unanswered(message: string, items: Items, lastFailure: Error | undefined): NextvisitError {
  const why = lastFailure ? `. The latest try: ${lastFailure.message}` : ''
  return new NextvisitError('UNANSWERED', message + why, items, lastFailure)
}
