import { setImmediate, setTimeout as sleep } from 'node:timers/promises'

import { AnswerOverdueError, PartitionUnansweredError, PublisherStoppedError } from '../errors.ts'
import { connectProducer, type IdempotentProducer } from './idempotent-producer.ts'
import { silentLogger } from '../connect/kafka-client.ts'
import { keepTrying } from '../connect/keep-trying.ts'
import type { LogConnection, Logger } from '../connect/log-connection.ts'
import { toError } from '../to-error.ts'
import { createPublishQueue, sizeOf, type WaitingRecord } from './publish-queue.ts'
import type { Publisher, PublishOutcome, RecordToPublish } from './publisher.ts'
import { areEnough, createRequestSpacing } from './request-spacing.ts'

export interface PublisherOptions {
  /** Records that may wait for a request. Further ones are answered `queue-full`. Default 5,000. */
  readonly maxQueuedRecords?: number
  /** Default 16 MiB. */
  readonly maxQueuedBytes?: number
  /** How long the broker may take for a request before the producer is replaced. Default 1,500. */
  readonly requestTimeoutMs?: number
  /** Default 3,000. */
  readonly connectTimeoutMs?: number
  /** Default 1,000. */
  readonly maxBatchRecords?: number
  /** Below the broker's `max.message.bytes`, which bounds a partition's part of a request. Default 900,000. */
  readonly maxBatchBytes?: number
  /** See `request-spacing.ts`. Default 5. */
  readonly requestSpacingMs?: number
  readonly logger?: Logger
  /** Called for every request to the log, once it is answered or abandoned. */
  readonly onRequest?: (request: PublishRequest) => void
}

interface PublishRequest {
  readonly records: number
  readonly durationMs: number
  readonly isAcknowledged: boolean
}

/** Deadlines are checked no more often than this. */
const sweepSpacingMs = 5

/**
 * Publishes with one request in flight. Records that arrive meanwhile, and within the spacing of requests, form the next one.
 * This is cheap, and keeps the sequence of each partition certain. After a failed request the sequence is unknown, so the
 * producer is replaced, and the outcome of its records is `unknown`.
 */
export function createPublisher(connection: LogConnection, options: PublisherOptions = {}): Publisher {
  const { requestTimeoutMs = 1_500, connectTimeoutMs = 3_000, logger = silentLogger, onRequest = () => {} } = options
  const queue = createPublishQueue({
    maxQueuedRecords: options.maxQueuedRecords ?? 5_000,
    maxQueuedBytes: options.maxQueuedBytes ?? 16 * 1024 * 1024,
    maxBatchRecords: options.maxBatchRecords ?? 1_000,
    maxBatchBytes: options.maxBatchBytes ?? 900_000,
  })
  const spacing = createRequestSpacing(options.requestSpacingMs)
  const stopping = new AbortController()
  let producer: IdempotentProducer | undefined
  let flight: Promise<void> | undefined
  let inFlight: readonly WaitingRecord[] = []
  let endWait: (() => void) | undefined
  let sweepTimer: NodeJS.Timeout | undefined
  let sweepAt = Infinity

  const connect = (): Promise<IdempotentProducer> =>
    connectProducer(connection, { requestTimeoutMs, connectTimeoutMs, logger, onSocketClosed: replaceIdleProducer })

  const reconnect = async (): Promise<void> => {
    const trying = { message: 'Cannot reach the log; trying again', logger, signal: stopping.signal }
    const connected = await keepTrying(connect, trying)
    if (stopping.signal.aborted) return connected.discard(new PublisherStoppedError())
    producer = connected
    logger.info({}, 'Connected to the log again')
    pump()
  }

  const replaceProducer = (reason: Error): void => {
    producer?.discard(reason)
    producer = undefined
    reconnect().catch(() => {}) // only when stopped
  }

  /** Connects before the next request, which would otherwise be the first to notice. */
  const replaceIdleProducer = (): void => {
    if (producer && inFlight.length === 0) replaceProducer(new Error('The broker closed the connection'))
  }

  /** The single flight: starts the next request unless one is in flight. */
  const pump = (): void => {
    if (flight || !producer || queue.waiting().length === 0) return
    flight = fly().finally(() => {
      flight = undefined
      inFlight = []
      pump()
    })
  }

  const fly = async (): Promise<void> => {
    const waitMs = spacing.waitMs(performance.now(), queue.waiting().length)
    if (waitMs > 0) await waitForMore(waitMs)
    // Whatever else arrives in this turn of the event loop joins the request.
    await setImmediate()
    settleOverdue()
    // The connection may have closed during the wait. Then the records wait for the next one.
    const current = producer
    if (!current) return
    inFlight = queue.take()
    if (inFlight.length === 0) return
    const records = inFlight.length
    const beganAt = performance.now()
    spacing.noticeRequest(beganAt, records)
    const report = (isAcknowledged: boolean) =>
      onRequest({ records, durationMs: performance.now() - beganAt, isAcknowledged })
    try {
      const offsets = await current.send(inFlight.map(({ record }) => record))
      report(true)
      inFlight.forEach((waiting, index) => waiting.settle(answerFor(waiting.record, offsets[index])))
      if (offsets.includes(undefined)) replaceProducer(new Error('The broker left partitions unanswered'))
    } catch (error) {
      report(false)
      const cause = toError(error)
      logger.warn({ err: cause, records }, 'A request to the log failed; its records may be there or not')
      for (const waiting of inFlight) waiting.settle({ outcome: 'unknown', cause })
      replaceProducer(cause)
    }
  }

  /** Resolves after this time, or once enough records wait. */
  const waitForMore = async (waitMs: number): Promise<void> => {
    const { promise, resolve } = Promise.withResolvers<void>()
    const timer = setTimeout(resolve, waitMs)
    endWait = resolve
    await promise
    clearTimeout(timer)
  }

  const settleOverdue = (): void => {
    const now = performance.now()
    for (const waiting of queue.takeRefused(now)) {
      const reason = waiting.deadlineAt <= now ? 'deadline' : 'broken-sequence'
      waiting.settle({ outcome: 'not-published', reason })
    }
    for (const waiting of inFlight) {
      if (waiting.deadlineAt <= now) waiting.settle({ outcome: 'unknown', cause: new AnswerOverdueError() })
    }
  }

  /** One timer for all deadlines, set for the earliest that was known when it was set. */
  const sweepBy = (deadlineAt: number): void => {
    if (deadlineAt >= sweepAt) return
    clearTimeout(sweepTimer)
    sweepAt = deadlineAt
    sweepTimer = setTimeout(sweep, Math.max(sweepSpacingMs, deadlineAt - performance.now()))
  }

  const sweep = (): void => {
    sweepAt = Infinity
    settleOverdue()
    const unanswered = inFlight.filter((waiting) => !waiting.isSettled())
    const deadlines = [...queue.waiting(), ...unanswered].map(({ deadlineAt }) => deadlineAt)
    sweepBy(deadlines.reduce((earliest, deadlineAt) => Math.min(earliest, deadlineAt), Infinity))
  }

  const publish: Publisher['publish'] = (record, deadlineAt, sequence) => {
    const { promise, resolve } = Promise.withResolvers<PublishOutcome>()
    let settled = false
    const settle = (outcome: PublishOutcome): void => {
      settled = true
      if (sequence && outcome.outcome !== 'published') sequence.isBroken = true
      resolve(outcome)
    }
    const waiting = { record, bytes: sizeOf(record), deadlineAt, sequence, settle, isSettled: () => settled }
    if (stopping.signal.aborted) settle({ outcome: 'not-published', reason: 'stopped' })
    else if (deadlineAt <= performance.now()) settle({ outcome: 'not-published', reason: 'deadline' })
    else if (!queue.add(waiting)) settle({ outcome: 'not-published', reason: 'queue-full' })
    else {
      sweepBy(deadlineAt)
      pump()
      if (areEnough(queue.waiting().length)) endWait?.()
    }
    return promise
  }

  const stop: Publisher['stop'] = async (withinMs) => {
    stopping.abort()
    for (const waiting of queue.takeAll()) waiting.settle({ outcome: 'not-published', reason: 'stopped' })
    endWait?.()
    await Promise.race([flight, sleep(withinMs, undefined, { ref: false })])
    const cause = new PublisherStoppedError()
    for (const waiting of inFlight) waiting.settle({ outcome: 'unknown', cause })
    clearTimeout(sweepTimer)
    producer?.discard(cause)
    producer = undefined
  }

  return {
    start: async () => {
      producer = await connect()
    },
    publish,
    isConnected: () => producer !== undefined,
    stop,
  }
}

function answerFor(record: RecordToPublish, offset: bigint | undefined): PublishOutcome {
  if (offset !== undefined) return { outcome: 'published', offset }
  return { outcome: 'unknown', cause: new PartitionUnansweredError(record.topic, record.partition) }
}
