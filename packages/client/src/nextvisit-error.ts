import type { IdentifyItem, TrackItem } from './api-types.ts'

/** A call as it is sent: with its idempotency key. */
export type CallItem = (IdentifyItem | TrackItem) & { readonly idempotencyKey: string }

/**
 * Why there is no answer:
 *
 * - `UNANSWERED`: the gateway did not answer, or asked to come again, until the deadline. The call may have been recorded.
 * - `QUEUE_FULL`: `maxQueued` calls wait already. Nothing was sent.
 * - `CLOSED`: `close()` was called before. Nothing was sent.
 * - `INVALID`: an argument can't be right, such as a host without `https://`. The message names it. Nothing was sent.
 * - `NOT_JSON`: the call can't be written as JSON, such as a BigInt. The message names the member. Nothing was sent.
 * - `UNSENT`, of `flush` and `close`: at least one call got no answer.
 */
export type NextvisitErrorCode = 'UNANSWERED' | 'QUEUE_FULL' | 'CLOSED' | 'INVALID' | 'NOT_JSON' | 'UNSENT'

/** There is no answer. What the gateway refused is no error but a result. */
export class NextvisitError extends Error {
  override readonly name = 'NextvisitError'
  readonly code: NextvisitErrorCode
  /** Whether the same call may succeed later. */
  readonly retryable: boolean
  /** The calls without an answer. Each has its `idempotencyKey`: called again with it, it counts once. */
  readonly items: readonly CallItem[]

  constructor(code: NextvisitErrorCode, message: string, items: readonly CallItem[] = [], cause?: unknown) {
    super(message, cause === undefined ? undefined : { cause })
    this.code = code
    this.retryable = code !== 'CLOSED' && code !== 'INVALID' && code !== 'NOT_JSON'
    this.items = items
  }
}

/** `lastFailure`: why the latest try had no answer, if there was one. */
export function unanswered(
  message: string,
  items: readonly CallItem[],
  lastFailure: Error | undefined,
): NextvisitError {
  const why = lastFailure ? `. The latest try: ${lastFailure.message}` : ''
  return new NextvisitError('UNANSWERED', message + why, items, lastFailure)
}
