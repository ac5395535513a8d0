import type { Consumer, ConsumerCrashEvent, ConsumerGroupJoinEvent, EachBatchPayload } from 'kafkajs'

import { createClientSockets } from './client-sockets.ts'
import { ConsumerHaltedError, isUnknownTopic, PositionOutsideLogError, TopicMissingError } from './errors.ts'
import { toFetchedBatches, type KafkaBatch } from './fetched-batches.ts'
import { isInLog } from './is-in-log.ts'
import { createKafka, silentLogger } from './kafka-client.ts'
import { keepTrying } from './keep-trying.ts'
import { readWatermarks } from './log-admin.ts'
import type { LogConnection, Logger } from './log-connection.ts'
import { createOffsetCommits } from './offset-commits.ts'
import type { FetchedBatch, RecordConsumer, RecordConsumerHandlers } from './record-consumer.ts'

export interface RecordConsumerOptions {
  readonly groupId: string
  readonly topics: readonly string[]
  /** Partitions handled at the same time. Default 4. */
  readonly concurrency?: number
  /** A fetch of more is handed on in parts. Default 1,000. */
  readonly maxBatchRecords?: number
  /** About 1,000 records. Default 1 MiB. */
  readonly maxBytesPerPartition?: number
  /** How long the broker may hold a fetch that finds nothing. Default 100. */
  readonly maxWaitMs?: number
  /** Without a heartbeat for so long the partitions go to others. Default 10,000. */
  readonly sessionTimeoutMs?: number
  readonly heartbeatIntervalMs?: number
  readonly rebalanceTimeoutMs?: number
  /** How long `start` waits for brokers and for topics that do not exist yet. Default 30,000. */
  readonly startWithinMs?: number
  readonly logger?: Logger
}

/** What this member was given at one join of the group: nothing of it holds after the next join. */
interface Assignment {
  readonly partitions: ReadonlyMap<string, readonly number[]>
  readonly cursors: Map<string, PartitionCursor>
}

interface PartitionCursor {
  /** Where the next fetch has to begin. */
  next: bigint
  /** Fetches in a row that began elsewhere. */
  strayFetches: number
}

/** A fetch or two that raced with a seek may begin elsewhere; more, and the log does not have our position. */
const maxStrayFetches = 3

/**
 * Reads topics as a member of a consumer group, from the positions that the handlers give at each assignment. kafkajs
 * resets a lost position in silence and lives on after some errors of a handler but not others; here a batch is handed
 * on only if it was fetched from where the one before it ended, and whatever goes wrong for good ends in `onCrash`.
 */
export function createRecordConsumer(
  connection: LogConnection,
  options: RecordConsumerOptions,
  handlers: RecordConsumerHandlers,
): RecordConsumer {
  const { groupId, topics, maxBatchRecords = 1_000, startWithinMs = 30_000, logger = silentLogger } = options
  const sockets = createClientSockets(connection)
  const consumer = createConsumer(connection, sockets, options)
  const commits = createOffsetCommits(logger)
  const stopping = new AbortController()
  /** Batches under way, by partition: a batch of a new assignment waits for one of the last. */
  const underWay = new Map<string, Promise<void>>()
  let assignment: Assignment | undefined

  /** The end of this consumer: nothing more is handed on, nobody restarts it but the process' supervisor. */
  const crash = (error: Error): void => {
    if (stopping.signal.aborted) return
    stopping.abort()
    assignment = undefined
    void leave()
    handlers.onCrash(error)
  }

  const leave = async (): Promise<void> => {
    await consumer.disconnect().catch(() => {})
    sockets.cutOff(new ConsumerHaltedError())
  }

  const onJoined = ({ payload }: ConsumerGroupJoinEvent): void => {
    commits.forget()
    const given = Object.entries(payload.memberAssignment).filter(([, partitions]) => partitions.length > 0)
    const partitions = new Map(given)
    const joined: Assignment = { partitions, cursors: new Map() }
    assignment = joined
    consumer.pause(inKafkaTerms(partitions)) // nothing is fetched before positions are known
    seekPositions(joined).catch((error: unknown) => {
      if (assignment === joined) crash(toError(error))
    })
  }

  const seekPositions = async (joined: Assignment): Promise<void> => {
    const isOver = (): boolean => assignment !== joined
    for (const [topic, partitions] of joined.partitions) {
      const trying = { message: 'Cannot read watermarks; trying again', logger, signal: stopping.signal }
      const all = await keepTrying(() => readWatermarks(connection, topic, { logger }), trying)
      if (isOver()) return
      const watermarks = new Map([...all].filter(([partition]) => partitions.includes(partition)))
      const positions = await handlers.positions(topic, watermarks)
      if (isOver()) return
      for (const partition of partitions) {
        const next = positions.get(partition)
        if (next === undefined || !isInLog(next, watermarks.get(partition))) {
          throw new PositionOutsideLogError(topic, partition, next)
        }
        joined.cursors.set(nameOf(topic, partition), { next, strayFetches: 0 })
        consumer.seek({ topic, partition, offset: next.toString() })
      }
    }
    handlers.onAssigned?.(joined.partitions)
    consumer.resume(inKafkaTerms(joined.partitions))
  }

  const eachBatch = async (payload: EachBatchPayload): Promise<void> => {
    const { topic, partition } = payload.batch
    const name = nameOf(topic, partition)
    await underWay.get(name)
    const handling = handle(payload)
    const settled = handling.catch(() => {}).finally(() => underWay.delete(name))
    underWay.set(name, settled)
    await handling
  }

  const handle = async (payload: EachBatchPayload): Promise<void> => {
    const batch = payload.batch as EachBatchPayload['batch'] & KafkaBatch
    const { topic, partition } = batch
    const current = assignment
    const cursor = current?.cursors.get(nameOf(topic, partition))
    if (!cursor) return // fetched for an assignment that is over
    for (const part of toFetchedBatches(batch, maxBatchRecords)) {
      if (part.fetchedFrom !== cursor.next) return refetch(topic, partition, cursor)
      await handOn(part)
      if (assignment !== current) return
      cursor.next = part.nextOffset
      cursor.strayFetches = 0
      payload.resolveOffset((part.nextOffset - 1n).toString())
      commits.note(topic, partition, part.nextOffset, (offsets) => payload.commitOffsetsIfNecessary(offsets))
      if (stopping.signal.aborted) return
      await payload.heartbeat()
    }
  }

  const handOn = async (batch: FetchedBatch): Promise<void> => {
    try {
      await handlers.onBatch(batch)
    } catch (error) {
      crash(toError(error))
      throw new ConsumerHaltedError() // kafkajs would retry some errors, and log what they say
    }
  }

  const refetch = (topic: string, partition: number, cursor: PartitionCursor): void => {
    cursor.strayFetches += 1
    if (cursor.strayFetches > maxStrayFetches) {
      crash(new PositionOutsideLogError(topic, partition, cursor.next))
      throw new ConsumerHaltedError()
    }
    consumer.seek({ topic, partition, offset: cursor.next.toString() })
  }

  /** kafkajs left the group, to stop or to join anew. */
  const onLeft = (): void => {
    if (assignment) handlers.onAssigned?.(new Map())
    assignment = undefined
  }

  const onCrashed = ({ payload }: ConsumerCrashEvent): void => {
    if (payload.restart)
      logger.warn({ groupId, err: payload.error }, 'Lost the log; the consumer joins its group again')
    else crash(payload.error)
  }

  const subscribe = async (): Promise<void> => {
    await consumer.subscribe({ topics: [...topics], fromBeginning: true }).catch((error: unknown) => {
      throw isUnknownTopic(error) ? new TopicMissingError(topics, { cause: error }) : error
    })
  }

  const start: RecordConsumer['start'] = async () => {
    const trying = { logger, signal: stopping.signal, giveUpAfterMs: startWithinMs }
    consumer.on(consumer.events.GROUP_JOIN, onJoined)
    consumer.on(consumer.events.STOP, onLeft)
    consumer.on(consumer.events.CRASH, onCrashed)
    try {
      await keepTrying(() => consumer.connect(), { ...trying, message: 'Cannot reach the log; trying again' })
      await keepTrying(subscribe, { ...trying, message: 'Cannot subscribe; trying again' })
      await consumer.run({
        autoCommit: false,
        eachBatchAutoResolve: false,
        partitionsConsumedConcurrently: options.concurrency ?? 4,
        eachBatch,
      })
    } catch (error) {
      await leave()
      throw error
    }
  }

  const stop: RecordConsumer['stop'] = async () => {
    stopping.abort()
    await Promise.all(underWay.values())
    await commits.flush()
    await leave()
  }

  return { start, stop, assigned: () => assignment?.partitions ?? new Map<string, readonly number[]>() }
}

function createConsumer(
  connection: LogConnection,
  sockets: ReturnType<typeof createClientSockets>,
  options: RecordConsumerOptions,
): Consumer {
  const retry = { retries: 5, initialRetryTime: 100, maxRetryTime: 1_000 }
  const kafka = createKafka(connection, sockets, {
    connectTimeoutMs: 3_000,
    requestTimeoutMs: 10_000,
    retry,
    logger: options.logger ?? silentLogger,
  })
  return kafka.consumer({
    groupId: options.groupId,
    sessionTimeout: options.sessionTimeoutMs ?? 10_000,
    heartbeatInterval: options.heartbeatIntervalMs ?? 1_000,
    rebalanceTimeout: options.rebalanceTimeoutMs ?? 15_000,
    maxWaitTimeInMs: options.maxWaitMs ?? 100,
    minBytes: 1,
    maxBytesPerPartition: options.maxBytesPerPartition ?? 1024 * 1024,
    allowAutoTopicCreation: false,
    retry,
  })
}

function inKafkaTerms(partitions: ReadonlyMap<string, readonly number[]>): { topic: string; partitions: number[] }[] {
  return Array.from(partitions, ([topic, ofTopic]) => ({ topic, partitions: [...ofTopic] }))
}

function nameOf(topic: string, partition: number): string {
  return `${topic}/${partition}`
}

function toError(error: unknown): Error {
  return error instanceof Error ? error : new Error(String(error))
}
