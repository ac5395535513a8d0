import { setTimeout as sleep } from 'node:timers/promises'
import { encodeRecord, TOPICS, USER_PROJECTOR_GROUP, type UserFact } from '@nextvisit/contracts'
import {
  countPartitions,
  type LogAdmin,
  type LogConnection,
  partitionForKey,
  PartitionsChangedError,
  type Publisher,
  type PublishOutcome,
  type RecordSequence,
  withLogAdmin,
} from '@nextvisit/log'
import { type BreakerWatch, createBreaker } from '@nextvisit/service-kit'
import { UNAVAILABLE_REASONS } from '../api/refusals.ts'

const CONNECT_AGAIN_AFTER_MS = 1_000
const COUNT_AGAIN_AFTER_MS = 5_000

export interface UserEventPublisherOptions extends BreakerWatch {
  readonly connection: LogConnection
  readonly publisher: Publisher
  /** Default `user-events`. */
  readonly topic?: string
  /** The consumer group that knows over how many partitions keys are spread. Default: the user projector's. */
  readonly foldedBy?: string
}

/** Where a record will be. The service that owns the partition settles reservations and claims of lost records. */
export interface UserPartition {
  readonly userId: string
  readonly partition: number
}

export interface PublishOptions {
  readonly deadlineAt: number
  /** Of the request that the record came from. */
  readonly traceparent: string
  /** Channel on which a waiter expects the evaluator's reply. */
  readonly replyTo?: string | undefined
  /** Of the items of a request that are about one user. */
  readonly sequence?: RecordSequence | undefined
}

export type Published = PublishOutcome['outcome']
/** While the breaker is open nothing enters the queue. */
const NOT_PUBLISHED: PublishOutcome = { outcome: 'not-published', reason: 'stopped' }

export type UserEventPublisher = ReturnType<typeof createUserEventPublisher>

/** The log as the gateway uses it: every publish is awaited with `acks=all`, and fails at once while Kafka is unavailable. */
export function createUserEventPublisher(options: UserEventPublisherOptions) {
  const { connection, publisher, topic = TOPICS.userEvents, foldedBy = USER_PROJECTOR_GROUP, ...watch } = options
  const stopping = new AbortController()
  // Around the queue and its deadline: what a record costs its caller is what counts.
  const breaker = createBreaker('Kafka', watch, 500)
  let { partitions: expected } = connection
  let isConnected = false
  let partitions = 0
  let changed: PartitionsChangedError | undefined

  async function connect(admin: LogAdmin): Promise<void> {
    const keys = await countPartitions(admin, { topic, expected, foldedBy })
    if (!isConnected) await publisher.start()
    isConnected = true
    expected ??= { keys, inTopic: keys }
    partitions = keys
    changed = undefined
  }

  /** Until it fails. A new connection for each count would cost more than the count. */
  async function stayConnected(admin: LogAdmin): Promise<void> {
    while (!stopping.signal.aborted) {
      await connect(admin)
      await pause(COUNT_AGAIN_AFTER_MS)
    }
  }

  /** Counts again from time to time: what is published to a topic with more partitions may stand in the wrong one. */
  async function keepConnecting(): Promise<void> {
    while (!stopping.signal.aborted) {
      await withLogAdmin(connection, stayConnected).catch(onFailed)
      await pause(partitions === 0 ? CONNECT_AGAIN_AFTER_MS : COUNT_AGAIN_AFTER_MS)
    }
  }

  const pause = (ms: number): Promise<void> =>
    sleep(ms, undefined, { signal: stopping.signal, ref: false }).catch(() => {})

  function onFailed(err: unknown): void {
    if (err instanceof PartitionsChangedError) {
      if (!changed) watch.logger.error({ err }, 'Nothing is published until the partitions are as they were')
      changed = err
      partitions = 0
    } else if (partitions === 0) watch.logger.warn({ err }, 'Nothing can be published yet: trying again')
  }

  return {
    /** Returns at once; connects in the background until it succeeds. */
    start: async () => void keepConnecting(),
    stop: async () => {
      stopping.abort()
      breaker.stop()
      await publisher.stop(3_000)
    },
    /** Where a user's records go; undefined while nothing can be published, so that nothing is reserved in vain. */
    partitionOf: (userId: string): UserPartition | undefined =>
      partitions === 0 || breaker.isOpen() ? undefined : { userId, partition: partitionForKey(userId, partitions) },
    /**
     * Never rejects. While the breaker is open nothing enters the queue: certainly not published. A record that got its
     * place before a trial began goes to the log beside the trial: room and names are reserved for it.
     */
    publish: async (
      fact: UserFact,
      { userId, partition }: UserPartition,
      { deadlineAt, traceparent, replyTo, sequence }: PublishOptions,
    ): Promise<PublishOutcome> => {
      if (sequence?.isBroken) return NOT_PUBLISHED
      const encoded = encodeRecord(fact, { source: 'gateway', time: fact.received, traceparent, replyTo })
      const publish = () => publisher.publish({ topic, partition, key: userId, ...encoded }, deadlineAt, sequence)
      const published = await (breaker.isTrying()
        ? publish()
        : breaker.run<PublishOutcome>(publish, saysKafkaFails, NOT_PUBLISHED))
      // Also where the breaker let nothing through.
      if (sequence && published.outcome !== 'published') sequence.isBroken = true
      return published
    },
    /** Why nothing can be published now. */
    unavailableReason: (): string | undefined => {
      if (changed) return changed.message
      if (partitions === 0) return 'Kafka was not reached yet'
      return publisher.isConnected() && !breaker.isOpen() ? undefined : UNAVAILABLE_REASONS.noLog
    },
  }
}

/** Not for the records behind one that failed: where these are many, one lost connection would open the breaker. */
function saysKafkaFails(published: PublishOutcome): boolean {
  if (published.outcome === 'not-published') return published.reason !== 'broken-sequence'
  return published.outcome === 'unknown'
}
