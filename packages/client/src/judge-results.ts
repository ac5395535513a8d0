import type { AnswerBody } from './request.ts'
import { isRetryable } from './retry.ts'
import type { WaitingCall } from './waiting-call.ts'

/** What became of a call in a batch. */
export type Judgement<Call> =
  | { readonly outcome: 'answered'; readonly call: Call; readonly result: AnswerBody }
  /** It has no answer yet. `mayBeRunning`: the gateway may still be at work on it. */
  | { readonly outcome: 'again'; readonly call: Call; readonly cause: Error; readonly mayBeRunning: boolean }
  /** It was refused, but perhaps only because a call of the same user before it was not recorded yet. */
  | { readonly outcome: 'behind'; readonly call: Call }

/**
 * Reads the results of a batch, one for each of its calls.
 *
 * A call that was refused behind one that has no answer yet is judged again after it: an event of a user who is to be
 * identified first, say. Refusals record nothing, so that is safe.
 */
export function judgeResults<Call extends Pick<WaitingCall, 'item'>>(
  batch: readonly Call[],
  { results }: AnswerBody,
): readonly Judgement<Call>[] {
  const unansweredUsers = new Set<unknown>()
  return batch.map((call, index) => {
    const { userName } = call.item
    const result: unknown = Array.isArray(results) ? results[index] : undefined
    if (!isItemResult(result) || isRetryable(result.status)) {
      unansweredUsers.add(userName)
      const mayBeRunning = !isItemResult(result) || result.status === 409
      return { outcome: 'again', call, mayBeRunning, cause: new Error(`The item's result: ${JSON.stringify(result)}`) }
    }
    if (result.status >= 400 && unansweredUsers.has(userName)) return { outcome: 'behind', call }
    return { outcome: 'answered', call, result }
  })
}

function isItemResult(value: unknown): value is AnswerBody & { readonly status: number } {
  return typeof value === 'object' && value !== null && 'status' in value && typeof value.status === 'number'
}
