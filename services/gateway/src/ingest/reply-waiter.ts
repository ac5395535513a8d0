import { AWAITED_RECORDS_CHANNEL, type AwaitedRecord, EvaluatorReply, replyChannel, TOPICS } from '@nextvisit/contracts'
import {
  type Breaker,
  type BreakerWatch,
  createBreaker,
  createOutageLog,
  subscribeTo,
  type RedisConnection,
  remainingMs,
} from '@nextvisit/service-kit'

interface ReplyWaiterOptions extends BreakerWatch {
  readonly redis: RedisConnection['client']
  /** A separate connection, since a subscribed one takes no other commands. */
  readonly subscriber: RedisConnection['client']
  /** Id of this gateway, which names the channel. */
  readonly instanceId: string
  /** Topic of the records. Default `user-events`. */
  readonly topic?: string
  /** Called with the wait of a request for its reply, from the ack of its record on. */
  readonly onReplyAwaited: (waitedMs: number, hasCome: boolean, traceparent?: string) => void
}

/** Beginning of the names of breakers. */
const REPLIES = 'form-trigger-evaluator (replies'

type AwaitedPosition = Pick<AwaitedRecord, 'partition' | 'offset'>

export type ReplyWaiter = ReturnType<typeof createReplyWaiter>

/**
 * Receives the evaluator's replies to this gateway's records over one channel of Redis pub/sub. While a partition gets
 * no replies, one request a second waits for one there; the others get `later` at once.
 */
export function createReplyWaiter(options: ReplyWaiterOptions) {
  const { redis, subscriber, instanceId, topic = TOPICS.userEvents, onReplyAwaited, ...watch } = options
  const channel = replyChannel(instanceId)
  const waiting = new Map<string, (reply: EvaluatorReply | 'later') => void>()
  /** Breakers by partition, since a halted partition affects no other. */
  const breakers = new Map<number, Breaker>()
  let isUp = false
  const unannounced = createOutageLog(watch.logger, {
    began: 'Cannot announce records that callers wait for: replies come later',
    ended: 'Records that callers wait for are announced again',
  })

  /** Makes the evaluator fetch the record now. Not awaited: if this is lost, the reply comes up to 400 ms later. */
  function announce({ partition, offset }: AwaitedPosition): void {
    const message = JSON.stringify({ topic, partition, offset: offset.toString() })
    redis.publish(AWAITED_RECORDS_CHANNEL, message).then(
      () => unannounced.end(),
      (err: unknown) => unannounced.begin({ err }),
    )
  }

  function breakerOf(partition: number): Breaker {
    const breaker =
      breakers.get(partition) ?? createBreaker(`${REPLIES}, ${partition})`, watch, { dependency: `${REPLIES})` })
    breakers.set(partition, breaker)
    return breaker
  }

  subscribeTo(subscriber, {
    channel,
    schema: EvaluatorReply,
    onMessage: (reply) => waiting.get(reply.recordId)?.(reply),
    onSubscribed: () => (isUp = true),
    warning: 'Cannot subscribe to replies: answering without them',
    logger: watch.logger,
  })
  subscriber.on('close', () => {
    isUp = false
    for (const resolve of waiting.values()) resolve('later')
  })

  return {
    isUp: () => isUp,
    stop: () => breakers.forEach(({ stop }) => stop()),
    /** Registers a waiter. Call it before the record is published. Undefined while no reply can be received. */
    expect: (recordId: string) => {
      if (!isUp) return undefined
      const { promise, resolve } = Promise.withResolvers<EvaluatorReply | 'later'>()
      let timer: NodeJS.Timeout | undefined
      waiting.set(recordId, resolve)
      return {
        /** Channel for the record's `replyTo`. */
        channel,
        /**
         * Resolves to the reply to the record at this position, or to `later` at the deadline or if the subscription is
         * lost. Never rejects.
         */
        reply: async (
          position: AwaitedPosition,
          deadlineAt: number,
          traceparent?: string,
        ): Promise<EvaluatorReply | 'later'> => {
          const beganAt = performance.now()
          const action = () => {
            announce(position)
            timer = setTimeout(() => resolve('later'), remainingMs(deadlineAt))
            return promise
          }
          const reply = await breakerOf(position.partition).run(action, (result) => result === 'later', 'later')
          onReplyAwaited(performance.now() - beganAt, reply !== 'later', traceparent)
          return reply
        },
        /** Removes the waiter. Call it in every case. */
        cancel: () => {
          clearTimeout(timer)
          // A duplicate of the record may have a waiter by now.
          if (waiting.get(recordId) === resolve) waiting.delete(recordId)
        },
      }
    },
  }
}
