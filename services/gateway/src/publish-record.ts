import { setTimeout as sleep } from 'node:timers/promises'
import { encodeRecord, TOPICS, type UserFact } from '@nextvisit/contracts'
import {
  createLogAdmin,
  type LogConnection,
  partitionForKey,
  type Publisher,
  type PublishOutcome,
  type RecordToPublish,
} from '@nextvisit/log'
import type { RecordPlace } from './admission/admission.ts'
import { createBreaker } from './breaker.ts'
import type { Logger } from './logger.ts'

const RETRY_START_MS = 500

export interface RecordLogOptions {
  readonly connection: LogConnection
  readonly publisher: Publisher
  readonly logger: Logger
  /** Default `user-events`. */
  readonly topic?: string
}

export interface PublishOptions {
  readonly deadlineAt: number
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
  topic = TOPICS.userEvents,
}: RecordLogOptions): RecordLog {
  const stopping = new AbortController()
  let partitions = 0

  // Around the enqueuing and its deadline: what a record costs its caller is what decides.
  const breaker = createBreaker('Kafka', publishOrThrow, logger, 500)
  async function publishOrThrow(record: RecordToPublish, deadlineAt: number): Promise<void> {
    const result = await publisher.publish(record, deadlineAt)
    if (result.outcome !== 'published') throw new NotAcknowledged(result.outcome)
  }

  async function connect(): Promise<void> {
    await publisher.start()
    const admin = createLogAdmin(connection)
    await admin.connect()
    try {
      partitions = await admin.partitionCount(topic)
    } finally {
      await admin.disconnect()
    }
    if (partitions === 0) throw new Error(`Topic ${topic} is missing: create the topics first`)
  }

  async function keepConnecting(): Promise<void> {
    while (!stopping.signal.aborted && partitions === 0) {
      try {
        await connect()
      } catch (err) {
        logger.warn({ err }, 'Kafka cannot be reached: trying again')
        await sleep(RETRY_START_MS, undefined, { signal: stopping.signal }).catch(() => undefined)
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
    publish: async (fact, place, { deadlineAt, replyTo }) => {
      const record = encodeRecord(fact, { source: 'gateway', time: fact.received, replyTo })
      try {
        await breaker.fire({ topic, partition: place.partition, key: place.userId, ...record }, deadlineAt)
        return 'published'
      } catch (error) {
        // Refused by the breaker: never enqueued.
        return error instanceof NotAcknowledged ? error.outcome : 'not-published'
      }
    },
    whyAway: () => {
      if (partitions === 0) return 'Kafka was not reached yet'
      return publisher.isConnected() && !breaker.isOpen() ? undefined : 'Kafka is away'
    },
  }
}

class NotAcknowledged extends Error {
  override readonly name = 'NotAcknowledged'
  readonly outcome: 'not-published' | 'unknown'

  constructor(outcome: 'not-published' | 'unknown') {
    super('The record was not acknowledged')
    this.outcome = outcome
  }
}
