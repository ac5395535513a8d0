import { setTimeout as sleep } from 'node:timers/promises'
import { encodeRecord, TOPICS, type UserFact } from '@nextvisit/contracts'
import {
  type LogConnection,
  partitionForKey,
  type Publisher,
  type PublishOutcome,
  type RecordToPublish,
  TopicMissingError,
  withLogAdmin,
} from '@nextvisit/log'
import type { RecordPlace } from './admission/admission.ts'
import { type BreakerWatch, createBreaker } from './breaker.ts'
import { NotAcknowledgedError } from './errors.ts'

const CONNECT_AGAIN_AFTER_MS = 1_000

export interface RecordLogOptions extends BreakerWatch {
  readonly connection: LogConnection
  readonly publisher: Publisher
  /** Default `user-events`. */
  readonly topic?: string
}

export interface PublishOptions {
  readonly deadlineAt: number
  /** Of the request that the record came of. */
  readonly traceparent: string
  /** Channel on which the evaluator's reply is waited for. */
  readonly replyTo?: string | undefined
}

/** The log as the gateway uses it: awaited with `acks=all`, and refused at once while it is away. */
export interface RecordLog {
  /** Returns at once; connects in the background until it succeeds. */
  readonly start: () => Promise<void>
  readonly stop: () => Promise<void>
  /** Where a user's records go; nothing while none can be published. */
  readonly placeOf: (userId: string) => RecordPlace | undefined
  readonly publish: (fact: UserFact, place: RecordPlace, options: PublishOptions) => Promise<PublishOutcome['outcome']>
  /** Why nothing can be published now. */
  readonly whyAway: () => string | undefined
}

export function createRecordLog({
  connection,
  publisher,
  logger,
  onState,
  topic = TOPICS.userEvents,
}: RecordLogOptions): RecordLog {
  const stopping = new AbortController()
  let partitions = 0

  // Around the enqueuing and its deadline: what a record costs its caller is what decides.
  const breaker = createBreaker('Kafka', publishOrThrow, { logger, onState }, 500)
  async function publishOrThrow(record: RecordToPublish, deadlineAt: number): Promise<void> {
    const result = await publisher.publish(record, deadlineAt)
    if (result.outcome !== 'published') throw new NotAcknowledgedError(result.outcome)
  }

  async function connect(): Promise<void> {
    const found = await withLogAdmin(connection, (admin) => admin.partitionCount(topic))
    if (found === 0) throw new TopicMissingError([topic])
    await publisher.start()
    partitions = found
  }

  async function keepConnecting(): Promise<void> {
    while (!stopping.signal.aborted && partitions === 0) {
      try {
        await connect()
      } catch (err) {
        logger.warn({ err }, 'Nothing can be published yet: trying again')
        await sleep(CONNECT_AGAIN_AFTER_MS, undefined, { signal: stopping.signal }).catch(() => undefined)
      }
    }
  }

  return {
    start: async () => void keepConnecting(),
    stop: async () => {
      stopping.abort()
      breaker.stop()
      await publisher.stop(3_000)
    },
    placeOf: (userId) =>
      partitions === 0 || breaker.isOpen() ? undefined : { userId, partition: partitionForKey(userId, partitions) },
    publish: async (fact, place, { deadlineAt, traceparent, replyTo }) => {
      const record = encodeRecord(fact, { source: 'gateway', time: fact.received, traceparent, replyTo })
      try {
        await breaker.fire({ topic, partition: place.partition, key: place.userId, ...record }, deadlineAt)
        return 'published'
      } catch (error) {
        // Refused by the breaker: never enqueued.
        return error instanceof NotAcknowledgedError ? error.outcome : 'not-published'
      }
    },
    whyAway: () => {
      if (partitions === 0) return 'Kafka was not reached yet'
      return publisher.isConnected() && !breaker.isOpen() ? undefined : 'Kafka is away'
    },
  }
}
