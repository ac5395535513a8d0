import { setTimeout as sleep } from 'node:timers/promises'

import type { Consumer, ConsumerCrashEvent, ConsumerGroupJoinEvent, EachBatchPayload } from 'kafkajs'

import { createClientSockets, type ClientSockets } from '../connect/client-sockets.ts'
import { ConsumerHaltedError, isUnknownTopic, PositionOutsideLogError, TopicMissingError } from '../errors.ts'
import { toFetchedBatches } from './fetched-batches.ts'
import { fromKafkajs, type KafkaBatch } from './kafkajs-batches.ts'
import { requireInLog } from '../publish/is-in-log.ts'
import { createKafka, silentLogger } from '../connect/kafka-client.ts'
import { keepTrying } from '../connect/keep-trying.ts'
import { isSettledWithin } from '../connect/within.ts'
import { readWatermarks } from '../admin/with-log-admin.ts'
import type { LogConnection } from '../connect/log-connection.ts'
import { createOffsetCommits } from './offset-commits.ts'
import { keysNote } from '../admin/partition-count.ts'
import type { FetchedBatch, RecordConsumerHandlers, RecordConsumerOptions } from './record-consumer.ts'

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
/** kafkajs fetches nothing more from a broker, and sends no heartbeat, before every batch of the last fetch is handled. */
const parkAfterMs = 500

/** Once `signal` is aborted, no more batches are passed on. */
export function createGroupMember(
  connection: LogConnection,
  options: RecordConsumerOptions,
  handlers: GroupMemberHandlers,
  signal: AbortSignal,
): GroupMember {
  const { topics, maxBatchRecords = 1_000, logger = silentLogger } = options
  const sockets = createClientSockets(connection)
  const { partitions: expected } = connection
  const commits = createOffsetCommits(logger, options.commitNote ?? (expected && (() => keysNote(expected))))
  const parked = new Set<Promise<void>>()
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
    const isLocated = (topic: string) => (partition: number) => joined.cursors.has(nameOf(topic, partition))
    const located = [...joined.partitions].map(([topic, ofTopic]) => [topic, ofTopic.filter(isLocated(topic))] as const)
    consumer.resume(inKafkaTerms(new Map(located)))
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
        for (const [partition, position] of positions)
          requireInLog(topic, partition, position, watermarks.get(partition))
        return positions
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
    if (!current || !cursor || signal.aborted) return
    if (BigInt(batch.fetchedOffset) !== cursor.next) return refetch(topic, partition, cursor)
    let parts: readonly FetchedBatch[]
    try {
      parts = toFetchedBatches(fromKafkajs(batch), maxBatchRecords)
    } catch (error) {
      return giveUp(topic, partition, toError(error))
    }
    for (const part of parts) {
      if (assignment !== current || signal.aborted) return // fetched for an assignment that is over
      const handling = passOn(part)
      const advance = (): void => {
        cursor.next = part.nextOffset
        cursor.strayFetches = 0
        commits.note(topic, partition, part.nextOffset, (offsets) => payload.commitOffsetsIfNecessary(offsets))
      }
      if (!(await isSettledWithin(parkAfterMs, handling))) return park(current, part, handling, advance)
      if (assignment !== current) return
      advance()
      payload.resolveOffset((part.nextOffset - 1n).toString())
      // Somebody waits for a note, and behind the next fetch it would wait as long as that does.
      if (signal.aborted || options.commitNote) await commits.flush()
      await payload.heartbeat()
    }
  }

  /** Fetches nothing of this partition before its batch is handled, so that the other partitions continue meanwhile. */
  const park = (
    current: Assignment,
    { topic, partition, nextOffset }: FetchedBatch,
    handling: Promise<void>,
    advance: () => void,
  ): void => {
    const own = [{ topic, partitions: [partition] }]
    consumer.pause(own)
    const goOn = (): void => {
      if (assignment !== current || signal.aborted) return
      advance()
      consumer.seek({ topic, partition, offset: nextOffset.toString() })
      consumer.resume(own)
    }
    const waiting = handling.then(goOn).catch(() => {}) // `onCrash` was called
    parked.add(waiting)
    void waiting.then(() => parked.delete(waiting))
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
      return giveUp(topic, partition, new PositionOutsideLogError(topic, partition, cursor.next))
    }
    consumer.seek({ topic, partition, offset: cursor.next.toString() })
  }

  const giveUp = (topic: string, partition: number, error: Error): void => {
    if (handlers.onUnreadable) {
      consumer.pause([{ topic, partitions: [partition] }])
      return handlers.onUnreadable(topic, partition, error)
    }
    handlers.onCrash(error)
    throw new ConsumerHaltedError()
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
    // It leaves the group, and does not wait for a fetch that waits at the broker (infra/patches), as `disconnect` would.
    await consumer.stop().catch(() => {})
    await Promise.all(parked)
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
        partitionsConsumedConcurrently: options.concurrency ?? 64,
        eachBatch,
      })
    } catch (error) {
      await leave()
      throw error
    }
  }

  return { join, leave, assigned: () => assignment?.partitions ?? new Map<string, readonly number[]>() }
}

/** Some thousand records: more would not make a commit cheaper, and all are held, decoded, until they are folded. */
const MAX_FETCH_BYTES = 1024 * 1024

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
    sessionTimeout: options.sessionTimeoutMs ?? 9_000,
    heartbeatInterval: options.heartbeatIntervalMs ?? 1_500,
    rebalanceTimeout: options.rebalanceTimeoutMs ?? 15_000,
    maxWaitTimeInMs: options.maxWaitMs ?? 2_000,
    minBytes: 1,
    maxBytesPerPartition: options.maxBytesPerPartition ?? 1_100_000,
    maxBytes: MAX_FETCH_BYTES,
    allowAutoTopicCreation: false,
    // How soon added partitions are noticed.
    metadataMaxAge: 10_000,
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
