import { setTimeout as sleep } from 'node:timers/promises'

import type { Consumer, ConsumerCrashEvent, ConsumerGroupJoinEvent, EachBatchPayload } from 'kafkajs'

import { createClientSockets, type ClientSockets } from './client-sockets.ts'
import { ConsumerHaltedError, isUnknownTopic, PositionOutsideLogError, TopicMissingError } from './errors.ts'
import { toFetchedBatches, type KafkaBatch } from './fetched-batches.ts'
import { isInLog } from './is-in-log.ts'
import { createKafka, silentLogger } from './kafka-client.ts'
import { keepTrying } from './keep-trying.ts'
import { readWatermarks } from './with-log-admin.ts'
import type { LogConnection } from './log-connection.ts'
import { createOffsetCommits } from './offset-commits.ts'
import type { FetchedBatch, RecordConsumerHandlers, RecordConsumerOptions, Watermarks } from './record-consumer.ts'

/** One kafkajs consumer, from its join to its end. It is not used again once it is lost. */
export interface GroupMember {
  readonly join: () => Promise<void>
  /** Lets current batches finish. */
  readonly leave: () => Promise<void>
  readonly assigned: () => ReadonlyMap<string, readonly number[]>
}

export interface GroupMemberHandlers extends RecordConsumerHandlers {
  /** The member has left the group through no fault of the handlers: another may join. */
  readonly onLost: (error: Error) => void
}

/** What the member was assigned at one join of the group. It is void after the next join. */
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

/** A fetch or two that raced with a seek may begin elsewhere. After more, the log does not have our position. */
const maxStrayFetches = 3
const maxAttempts = 3
const retryAfterMs = 200

/** Once `signal` is aborted, no more batches are passed on. */
export function createGroupMember(
  connection: LogConnection,
  options: RecordConsumerOptions,
  handlers: GroupMemberHandlers,
  signal: AbortSignal,
): GroupMember {
  const { topics, maxBatchRecords = 1_000, logger = silentLogger } = options
  const sockets = createClientSockets(connection)
  const commits = createOffsetCommits(logger, options.commitNote)
  let assignment: Assignment | undefined
  let isLost = false

  /**
   * kafkajs calls this after an error that it would restart itself after. A restarted consumer may be stuck, or own
   * partitions twice (tulios/kafkajs#659, #1122), so a new one replaces it.
   */
  const restartOnFailure = async (): Promise<boolean> => {
    isLost = true
    return false
  }

  const consumer = createConsumer(connection, sockets, options, restartOnFailure)

  const onJoined = ({ payload }: ConsumerGroupJoinEvent): void => {
    commits.discard()
    const given = Object.entries(payload.memberAssignment).filter(([, ofTopic]) => ofTopic.length > 0)
    const partitions = new Map(given.map(([topic, ofTopic]) => [topic, ofTopic.toSorted((a, b) => a - b)]))
    const joined: Assignment = { partitions, cursors: new Map() }
    assignment = joined
    consumer.pause(inKafkaTerms(partitions)) // nothing is fetched before positions are known
    seekPositions(joined).catch((error: unknown) => {
      if (assignment === joined) handlers.onCrash(toError(error))
    })
  }

  const seekPositions = async (joined: Assignment): Promise<void> => {
    const isOver = (): boolean => assignment !== joined
    for (const [topic, partitions] of joined.partitions) {
      const positions = await locate(topic, partitions, isOver)
      if (isOver()) return
      for (const [partition, next] of positions) {
        joined.cursors.set(nameOf(topic, partition), { next, strayFetches: 0 })
        consumer.seek({ topic, partition, offset: next.toString() })
      }
    }
    handlers.onAssigned?.(joined.partitions)
    consumer.resume(inKafkaTerms(joined.partitions))
  }

  /**
   * Gets positions from the handlers, and again if one is refused: the partition's last owner may just have committed a
   * batch past the watermarks that were read before.
   */
  const locate = async (
    topic: string,
    partitions: readonly number[],
    isOver: () => boolean,
  ): Promise<ReadonlyMap<number, bigint>> => {
    for (let attempt = 1; ; attempt += 1) {
      const trying = { message: 'Cannot read watermarks; trying again', logger, signal }
      const all = await keepTrying(() => readWatermarks(connection, topic, { logger }), trying)
      if (isOver()) return new Map()
      const watermarks = new Map([...all].filter(([partition]) => partitions.includes(partition)))
      try {
        const positions = await handlers.positions(topic, watermarks)
        return new Map(partitions.map((partition) => [partition, checked(topic, partition, positions, watermarks)]))
      } catch (error) {
        if (attempt === maxAttempts || isOver()) throw error
        logger.debug({ topic, err: error }, 'Positions were refused; trying again')
        await sleep(retryAfterMs)
      }
    }
  }

  const eachBatch = async (payload: EachBatchPayload): Promise<void> => {
    const batch = payload.batch as EachBatchPayload['batch'] & KafkaBatch
    const { topic, partition } = batch
    const current = assignment
    const cursor = current?.cursors.get(nameOf(topic, partition))
    for (const part of toFetchedBatches(batch, maxBatchRecords)) {
      if (!cursor || assignment !== current || signal.aborted) return // fetched for an assignment that is over
      if (part.fetchedFrom !== cursor.next) return refetch(topic, partition, cursor)
      await passOn(part)
      if (assignment !== current) return
      cursor.next = part.nextOffset
      cursor.strayFetches = 0
      payload.resolveOffset((part.nextOffset - 1n).toString())
      commits.note(topic, partition, part.nextOffset, (offsets) => payload.commitOffsetsIfNecessary(offsets))
      if (signal.aborted) await commits.flush()
      await payload.heartbeat()
    }
  }

  const passOn = async (batch: FetchedBatch): Promise<void> => {
    try {
      await handlers.onBatch(batch)
    } catch (error) {
      handlers.onCrash(toError(error))
      throw new ConsumerHaltedError() // kafkajs would retry some errors, and log their messages
    }
  }

  const refetch = (topic: string, partition: number, cursor: PartitionCursor): void => {
    cursor.strayFetches += 1
    if (cursor.strayFetches > maxStrayFetches) {
      handlers.onCrash(new PositionOutsideLogError(topic, partition, cursor.next))
      throw new ConsumerHaltedError()
    }
    consumer.seek({ topic, partition, offset: cursor.next.toString() })
  }

  const onStopped = (): void => {
    if (assignment) handlers.onAssigned?.(new Map())
    assignment = undefined
  }

  const onCrashed = ({ payload }: ConsumerCrashEvent): void => {
    sockets.cutOff(new ConsumerHaltedError())
    if (isLost) handlers.onLost(payload.error)
    else handlers.onCrash(payload.error)
  }

  const subscribe = async (): Promise<void> => {
    await consumer.subscribe({ topics: [...topics], fromBeginning: true }).catch((error: unknown) => {
      throw isUnknownTopic(error) ? new TopicMissingError(topics, { cause: error }) : error
    })
  }

  const leave: GroupMember['leave'] = async () => {
    await commits.flush()
    await consumer.disconnect().catch(() => {})
    commits.discard()
    sockets.cutOff(new ConsumerHaltedError())
  }

  const join: GroupMember['join'] = async () => {
    consumer.on(consumer.events.GROUP_JOIN, onJoined)
    consumer.on(consumer.events.STOP, onStopped)
    consumer.on(consumer.events.CRASH, onCrashed)
    try {
      await consumer.connect()
      await subscribe()
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

  return { join, leave, assigned: () => assignment?.partitions ?? new Map<string, readonly number[]>() }
}

function createConsumer(
  connection: LogConnection,
  sockets: ClientSockets,
  options: RecordConsumerOptions,
  restartOnFailure: () => Promise<boolean>,
): Consumer {
  const retry = { retries: 5, initialRetryTime: 100, maxRetryTime: 1_000, restartOnFailure }
  const kafka = createKafka(connection, sockets, {
    connectTimeoutMs: 3_000,
    requestTimeoutMs: 5_000,
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

function checked(
  topic: string,
  partition: number,
  positions: ReadonlyMap<number, bigint>,
  watermarks: ReadonlyMap<number, Watermarks>,
): bigint {
  const position = positions.get(partition)
  if (position !== undefined && isInLog(position, watermarks.get(partition))) return position
  throw new PositionOutsideLogError(topic, partition, position)
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
