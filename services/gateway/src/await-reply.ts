import type { EvaluatorReply } from '@nextvisit/contracts'
import { type BreakerWatch, createBreaker } from './breaker.ts'
import type { Refusal } from './refusal.ts'
import type { Replies, ReplyWaiter } from './replies.ts'
import type { CheckedRequest } from './route.ts'

/** `none`: no reply was wanted. `later`: it did not come within the budget, or can't come at the moment. */
export interface WithReply<Recorded> {
  readonly result: Recorded | Refusal
  readonly reply: EvaluatorReply | 'none' | 'later'
}

/** Records something, with the evaluator's reply to it where one `isWanted`. `record` gets the channel to name. */
export type AwaitReply = <Recorded extends { readonly outcome: 'recorded' }>(
  request: CheckedRequest,
  isWanted: boolean,
  record: (replyTo: string | undefined) => Promise<Recorded | Refusal>,
) => Promise<WithReply<Recorded>>

/** Told how long a request waited for its reply, from the ack of its record on; and whether it came. */
export type OnReplyAwaited = (waitedMs: number, hasCome: boolean) => void

/** While the evaluator leaves replies unanswered, only one request a second waits for it; the rest are told `later` at once. */
export function createAwaitReply(
  replies: Replies,
  watch: BreakerWatch,
  onAwaited: OnReplyAwaited,
): { awaitReply: AwaitReply; stop: () => void } {
  const breaker = createBreaker('form-trigger-evaluator (replies)', replyOrThrow, watch)
  const replyTo = async (waiter: ReplyWaiter, deadlineAt: number): Promise<EvaluatorReply | 'later'> => {
    const beganAt = performance.now()
    const reply = await breaker.fire(waiter, deadlineAt).catch(() => 'later' as const)
    onAwaited(performance.now() - beganAt, reply !== 'later')
    return reply
  }
  const awaitReply: AwaitReply = async (request, isWanted, record) => {
    if (!isWanted) return { result: await record(undefined), reply: 'none' }
    // Before the publish: the reply can be faster than the ack.
    const waiter = replies.expect(request.requestId)
    try {
      const result = await record(waiter?.channel)
      if (result.outcome === 'refused' || !waiter) return { result, reply: 'later' }
      return { result, reply: await replyTo(waiter, request.deadlineAt) }
    } finally {
      waiter?.cancel()
    }
  }
  return { awaitReply, stop: breaker.stop }
}

async function replyOrThrow(waiter: ReplyWaiter, deadlineAt: number): Promise<EvaluatorReply> {
  const reply = await waiter.reply(deadlineAt)
  if (reply === 'later') throw new Error('The evaluator did not reply in time')
  return reply
}
