import type { Pacing } from './pacing.ts'
import type { AnswerBody, Attempt } from './request.ts'
import { isRetryable, retryDelayMs } from './retry.ts'
import type { WaitingCall } from './waiting-call.ts'

/** Settles the calls of a batch that have a final answer, and paces the next requests. `bytes`: size of the batch. */
export function settleBatch(batch: readonly WaitingCall[], bytes: number, attempt: Attempt, pacing: Pacing): void {
  if (attempt.outcome === 'failed') {
    pacing.onFailed(attempt.retryAfterMs)
    for (const call of batch) call.lastFailure = attempt.cause
  } else if (attempt.status === 413 && batch.length > 1) pacing.onTooLarge(bytes)
  else if (attempt.status === 200) settleItems(batch, attempt.body, pacing)
  else for (const call of batch) call.answer(attempt.body)
}

/** Settles the calls whose items have a final result, and delays the others. */
function settleItems(batch: readonly WaitingCall[], { results }: AnswerBody, pacing: Pacing): void {
  const heldUsers = new Set<string>()
  let isAnyAnswered = false
  for (const [index, call] of batch.entries()) {
    const result: unknown = Array.isArray(results) ? results[index] : undefined
    if (isFinal(result)) {
      call.answer(result)
      isAnyAnswered = true
      continue
    }
    call.lastFailure = new Error(`The item's result: ${JSON.stringify(result)}`)
    // Later calls of the same user wait behind it, and are then sent with it.
    if (heldUsers.has(call.user)) continue
    heldUsers.add(call.user)
    call.attempts += 1
    call.sendFrom = performance.now() + retryDelayMs(call.attempts, 0, Math.random())
  }
  if (isAnyAnswered) pacing.onAnswered()
  else pacing.onFailed(0)
}

/** Returns true for the result of an item that need not be sent again. */
function isFinal(result: unknown): result is AnswerBody {
  if (typeof result !== 'object' || result === null || !('status' in result)) return false
  return typeof result.status === 'number' && !isRetryable(result.status)
}
