import { EvaluatorReply, replyChannel } from '@nextvisit/contracts'
import type { Logger } from './logger.ts'

/** What this needs of a Redis connection of its own (ioredis fits). */
export interface ReplySubscriber {
  readonly subscribe: (channel: string) => Promise<unknown>
  readonly on: (event: 'ready' | 'close' | 'message', listener: (...given: string[]) => void) => unknown
}

export interface ReplyWaiter {
  /** The channel to name in the record. */
  readonly channel: string
  /** The evaluator's reply; `later` once the deadline passed or the subscription is down. Never rejects. */
  readonly reply: (deadlineAt: number) => Promise<EvaluatorReply | 'later'>
  /** To be called in the end, whatever happened. */
  readonly cancel: () => void
}

export interface Replies {
  /** Registers a waiter: to be called before the record is published. None while nothing can be received. */
  readonly expect: (recordId: string) => ReplyWaiter | undefined
  readonly isUp: () => boolean
}

/** The evaluator's replies to this gateway's records, by record id, over one channel of Redis pub/sub. */
export function createReplies(subscriber: ReplySubscriber, gatewayInstanceId: string, logger: Logger): Replies {
  const channel = replyChannel(gatewayInstanceId)
  const waiting = new Map<string, (reply: EvaluatorReply | 'later') => void>()
  let isUp = false

  async function listen(): Promise<void> {
    try {
      await subscriber.subscribe(channel)
      isUp = true
    } catch (err) {
      logger.warn({ err }, 'Cannot subscribe to replies: answering without them')
    }
  }

  subscriber.on('ready', () => void listen())
  subscriber.on('close', () => {
    isUp = false
    for (const settle of waiting.values()) settle('later')
  })
  subscriber.on('message', (from, text = '') => {
    const reply = from === channel ? parseReply(text) : undefined
    if (reply) waiting.get(reply.recordId)?.(reply)
  })

  return {
    isUp: () => isUp,
    expect: (recordId) => {
      if (!isUp) return undefined
      const { promise, resolve } = Promise.withResolvers<EvaluatorReply | 'later'>()
      let timer: NodeJS.Timeout | undefined
      waiting.set(recordId, resolve)
      return {
        channel,
        reply: (deadlineAt) => {
          timer = setTimeout(() => resolve('later'), Math.max(0, deadlineAt - performance.now()))
          return promise
        },
        cancel: () => {
          clearTimeout(timer)
          // A copy of a keyed record may wait by now.
          if (waiting.get(recordId) === resolve) waiting.delete(recordId)
        },
      }
    },
  }
}

function parseReply(text: string): EvaluatorReply | undefined {
  try {
    return EvaluatorReply.safeParse(JSON.parse(text)).data
  } catch {
    return undefined
  }
}
