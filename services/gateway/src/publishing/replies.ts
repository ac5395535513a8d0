import { AWAITED_RECORDS_CHANNEL, type AwaitedRecord, EvaluatorReply, replyChannel, TOPICS } from '@nextvisit/contracts'
import {
  type Breaker,
  type BreakerWatch,
  createBreaker,
  subscribeTo,
  type RedisConnection,
  remainingMs,
} from '@nextvisit/service-kit'

export interface RepliesOptions extends BreakerWatch {
  readonly redis: RedisConnection['client']
  /** A connection of its own: one that subscribes takes no other commands. */
  readonly subscriber: RedisConnection['client']
  /** Names the channel. */
  readonly instanceId: string
  /** Of the records. Default `user-events`. */
  readonly topic?: string
  /** Called with how long a request waited for its reply, from the ack of its record on; and whether it came. */
  readonly onReplyAwaited: (waitedMs: number, hasCome: boolean) => void
}

type PlaceInLog = Pick<AwaitedRecord, 'partition' | 'offset'>

export type Replies = ReturnType<typeof createReplies>
export type ReplyWaiter = NonNullable<ReturnType<Replies['expect']>>

/**
 * The evaluator's replies to this gateway's records, by record id, over one channel of Redis pub/sub. While the evaluator
 * leaves replies of a partition unanswered, only one request a second waits for it there; the others get `later` at once.
 */
export function createReplies(options: RepliesOptions) {
  const { redis, subscriber, instanceId, topic = TOPICS.userEvents, onReplyAwaited, ...watch } = options
  const channel = replyChannel(instanceId)
  const waiting = new Map<string, (reply: EvaluatorReply | 'later') => void>()
  /** By partition: one that is halted takes the replies of no other. */
  const breakers = new Map<number, Breaker>()
  let isUp = false
  let isSilent = false

  /** The evaluator fetches the record now. Not waited for: if this is lost, the reply comes up to 400 ms later. */
  function announce({ partition, offset }: PlaceInLog): void {
    const message = JSON.stringify({ topic, partition, offset: offset.toString() })
    redis.publish(AWAITED_RECORDS_CHANNEL, message).then(
      () => (isSilent = false),
      (err: unknown) => {
        if (!isSilent) watch.logger.warn({ err }, 'Cannot say which records callers wait for: replies come later')
        isSilent = true
      },
    )
  }

  function breakerOf(partition: number): Breaker {
    const breaker = breakers.get(partition) ?? createBreaker(`form-trigger-evaluator (replies, ${partition})`, watch)
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
    /** Registers a waiter: to be called before the record is published. Undefined while nothing can be received. */
    expect: (recordId: string) => {
      if (!isUp) return undefined
      const { promise, resolve } = Promise.withResolvers<EvaluatorReply | 'later'>()
      let timer: NodeJS.Timeout | undefined
      waiting.set(recordId, resolve)
      return {
        /** The channel to name in the record. */
        channel,
        /**
         * The evaluator's reply to the record, which is in the log there; `later` once the deadline passed or the
         * subscription is down. Never rejects.
         */
        reply: async (place: PlaceInLog, deadlineAt: number): Promise<EvaluatorReply | 'later'> => {
          const beganAt = performance.now()
          const action = () => {
            announce(place)
            timer = setTimeout(() => resolve('later'), remainingMs(deadlineAt))
            return promise
          }
          const reply = await breakerOf(place.partition).run(action, (result) => result === 'later', 'later')
          onReplyAwaited(performance.now() - beganAt, reply !== 'later')
          return reply
        },
        /** To be called in the end, whatever happened. */
        cancel: () => {
          clearTimeout(timer)
          // A duplicate of an idempotent record may wait by now.
          if (waiting.get(recordId) === resolve) waiting.delete(recordId)
        },
      }
    },
  }
}
