import type { EvaluatorReply } from '@nextvisit/contracts'
import { createBreaker } from './breaker.ts'
import type { Logger } from './logger.ts'
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

/** While the evaluator leaves replies unanswered, only one request a second waits for it; the rest are told `later` at once. */
export function createAwaitReply(replies: Replies, logger: Logger): { awaitReply: AwaitReply; stop: () => void } {
  const breaker = createBreaker('form-trigger-evaluator (replies)', replyOrThrow, logger)
  const awaitReply: AwaitReply = async (request, isWanted, record) => {
    if (!isWanted) return { result: await record(undefined), reply: 'none' }
    // Before the publish: the reply can be faster than the ack.
    const waiter = replies.expect(request.requestId)
    try {
      const result = await record(waiter?.channel)
      if (result.outcome === 'refused' || !waiter) return { result, reply: 'later' }
      return { result, reply: await breaker.fire(waiter, request.deadlineAt).catch(() => 'later' as const) }
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
