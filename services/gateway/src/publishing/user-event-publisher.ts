import { encodeRecord, TOPICS, USER_KEYS_TOPIC, USER_PROJECTOR_GROUP, type UserFact } from '@nextvisit/contracts'
import {
  createSleeper,
  readKeyPartitions,
  type LogAdmin,
  type LogConnection,
  partitionForKey,
  PartitionsChangedError,
  type Publisher,
  type PublishOutcome,
  type RecordSequence,
  type RecordToPublish,
  requirePartitions,
  withLogAdmin,
} from '@nextvisit/log'
import type { DataKey, WrappedKey } from '@nextvisit/sealing'
import { type BreakerWatch, createBreaker, createOutageLog } from '@nextvisit/service-kit'
import { keyRecordOf, sealWith } from '@nextvisit/user-keys'
import { UNAVAILABLE_REASONS } from '../refusals/refusals.ts'

const CONNECT_AGAIN_AFTER_MS = 1_000
const COUNT_AGAIN_AFTER_MS = 5_000

interface UserEventPublisherOptions extends BreakerWatch {
  readonly connection: LogConnection
  readonly publisher: Publisher
  /** Default `user-events`. */
  readonly topic?: string
  /** Default `user-keys`. */
  readonly keysTopic?: string
  /** Consumer group that stores the number of partitions of keys. Default: the user projector's. */
  readonly foldedBy?: string
}

/** A user's partition, whose owners settle reservations and claims of lost records. */
export interface UserPartition {
  readonly userId: string
  readonly partition: number
}

interface PublishOptions {
  readonly deadlineAt: number
  /** The `traceparent` of the request. */
  readonly traceparent: string
  /** Seals the personal members of the fact. undefined: it has none. */
  readonly key?: DataKey | undefined
  /** Channel on which a waiter expects the reply. */
  readonly replyTo?: string | undefined
  /** Shared by the records of one user in a batch. */
  readonly sequence?: RecordSequence | undefined
}

export type Published = PublishOutcome['outcome']
/** Outcome while the breaker is open. */
const NOT_TRIED: PublishOutcome = { outcome: 'not-published', reason: 'stopped' }
const BROKEN_SEQUENCE: PublishOutcome = { outcome: 'not-published', reason: 'broken-sequence' }

export type UserEventPublisher = ReturnType<typeof createUserEventPublisher>

/** Publishes user events with `acks=all`. Fails at once while Kafka is unavailable. */
export function createUserEventPublisher(options: UserEventPublisherOptions) {
  const { connection, publisher, topic = TOPICS.userEvents, keysTopic = USER_KEYS_TOPIC, ...others } = options
  const { foldedBy = USER_PROJECTOR_GROUP, ...watch } = others
  const stopping = new AbortController()
  const { sleep } = createSleeper(stopping.signal)
  // Around the queue and its deadline, since the caller's wait counts.
  const breaker = createBreaker('Kafka', watch, { retryAfterMs: 500 })
  let { partitions: expected } = connection
  const unreachable = createOutageLog(watch.logger, {
    began: 'Cannot publish yet: retrying',
    ended: 'Can publish now',
  })
  let isConnected = false
  let partitions = 0
  let changed: PartitionsChangedError | undefined

  async function connect(admin: LogAdmin): Promise<void> {
    const keyPartitions = await readKeyPartitions(admin, { topic, expected, foldedBy })
    const counts = { keyPartitions, inTopic: expected?.inTopic ?? keyPartitions }
    requirePartitions(keysTopic, await admin.partitionCount(keysTopic), counts)
    if (!isConnected) await publisher.start()
    isConnected = true
    unreachable.end()
    expected ??= { keyPartitions, inTopic: keyPartitions }
    partitions = keyPartitions
    changed = undefined
  }

  /**
   * Counts partitions over one connection until it fails. A connection for each count would cost more than the count.
   */
  async function stayConnected(admin: LogAdmin): Promise<void> {
    while (!stopping.signal.aborted) {
      await connect(admin)
      await sleep(COUNT_AGAIN_AFTER_MS)
    }
  }

  /** Repeats the count, because records may go to the wrong partition after a topic got more of them. */
  async function keepConnecting(): Promise<void> {
    while (!stopping.signal.aborted) {
      await withLogAdmin(connection, stayConnected).catch(onFailed)
      await sleep(partitions === 0 ? CONNECT_AGAIN_AFTER_MS : COUNT_AGAIN_AFTER_MS)
    }
  }

  function onFailed(err: unknown): void {
    if (err instanceof PartitionsChangedError) {
      if (!changed) watch.logger.error({ err }, 'Publishing is stopped until the number of partitions is restored')
      changed = err
      partitions = 0
    } else if (partitions === 0) unreachable.begin({ err })
  }

  /**
   * Publishes a record; never rejects. While the breaker is open, no record enters the queue. A record that got its
   * partition before a trial of the breaker is sent beside the trial, since room and names are reserved for it.
   */
  async function publishWhileUp(
    record: RecordToPublish,
    deadlineAt: number,
    sequence?: RecordSequence,
  ): Promise<PublishOutcome> {
    const publish = () => publisher.publish(record, deadlineAt, sequence)
    return breaker.isTrying() ? publish() : breaker.run<PublishOutcome>(publish, isKafkaFailure, NOT_TRIED)
  }

  return {
    /** Returns at once, and connects in the background. */
    start: async () => void keepConnecting(),
    stop: async () => {
      stopping.abort()
      breaker.stop()
      await publisher.stop(3_000)
    },
    /**
     * Returns the partition of a user; undefined while publishing is impossible, so that no room is reserved in vain.
     */
    partitionOf: (userId: string): UserPartition | undefined =>
      partitions === 0 || breaker.isOpen() ? undefined : { userId, partition: partitionForKey(userId, partitions) },
    /** Publishes a fact with sealed personal members; never rejects. */
    publish: async (
      fact: UserFact,
      { userId, partition }: UserPartition,
      { deadlineAt, traceparent, key, replyTo, sequence }: PublishOptions,
    ): Promise<PublishOutcome> => {
      if (sequence?.isBroken) return BROKEN_SEQUENCE
      const seal = key && sealWith(key)
      const encoded = encodeRecord(fact, { source: 'gateway', time: fact.received, traceparent, replyTo, seal })
      const published = await publishWhileUp({ topic, partition, key: userId, ...encoded }, deadlineAt, sequence)
      // The publisher breaks the sequence of each record that it was given.
      if (sequence && published === NOT_TRIED) sequence.isBroken = true
      return published
    },
    /** Publishes a data key, which must precede the records that it seals; never rejects. */
    publishKey: (wrapped: WrappedKey, partition: number, deadlineAt: number): Promise<PublishOutcome> =>
      publishWhileUp(keyRecordOf(wrapped, partition, keysTopic), deadlineAt),
    /** Returns the reason if publishing is impossible now. */
    unavailableReason: (): string | undefined => {
      if (changed) return changed.message
      if (partitions === 0) return 'Kafka was not reached yet'
      return publisher.isConnected() && !breaker.isOpen() ? undefined : UNAVAILABLE_REASONS.noLog
    },
  }
}

/** Returns true for a failure of Kafka. A record behind a failed one is none: a lost connection must not open the breaker. */
function isKafkaFailure(published: PublishOutcome): boolean {
  if (published.outcome === 'not-published') return published.reason !== 'broken-sequence'
  return published.outcome === 'unknown'
}
