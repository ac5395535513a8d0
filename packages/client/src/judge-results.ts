import type { AnswerBody } from './request.ts'
import { isRetryable } from './retry.ts'
import type { WaitingCall } from './waiting-call.ts'

/** Outcome of a call in a batch. `again`: it has no answer yet. */
type Judgement<Call> =
  | { readonly outcome: 'answered'; readonly call: Call; readonly result: AnswerBody }
  | { readonly outcome: 'again'; readonly call: Call; readonly cause: Error }

/** Reads the results of a batch, one per call. */
export function judgeResults<Call extends Pick<WaitingCall, 'item'>>(
  batch: readonly Call[],
  { results }: AnswerBody,
): readonly Judgement<Call>[] {
  return batch.map((call, index) => {
    const result: unknown = Array.isArray(results) ? results[index] : undefined
    if (isItemResult(result) && !isRetryable(result.status)) return { outcome: 'answered', call, result }
    return { outcome: 'again', call, cause: new Error(`The item's result: ${JSON.stringify(result)}`) }
  })
}

function isItemResult(value: unknown): value is AnswerBody & { readonly status: number } {
  return typeof value === 'object' && value !== null && 'status' in value && typeof value.status === 'number'
}
