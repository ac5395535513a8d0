import { setImmediate, setTimeout as sleep } from 'node:timers/promises'

import { NotAcknowledgedError } from '../errors.ts'
import { silentLogger } from '../connect/kafka-client.ts'
import type { LogConnection, Logger } from '../connect/log-connection.ts'
import { createSleeper } from '../sleeper.ts'
import { createDeadlineTimer } from './deadline-timer.ts'
import { connectProducer, type IdempotentProducer } from './idempotent-producer.ts'
import { createProducerLink } from './producer-link.ts'
import { createPublishQueue, createWaitingRecord, type WaitingRecord } from './publish-queue.ts'
import type { PublishOutcome, RecordSequence, RecordToPublish } from './publish-outcome.ts'
import { areEnough, createRequestSpacing } from './request-spacing.ts'

export interface PublisherOptions {
  /** Records that may wait for a request. Further ones are answered `queue-full`. Default 5,000. */
  readonly maxQueuedRecords?: number
  /** Default 16 MiB. */
  readonly maxQueuedBytes?: number
  /** Time for which the broker may take to answer a request, before the producer is replaced. Default 1,500. */
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
  readonly sent: readonly RecordToPublish[]
  /** A `performance.now()` instant. */
  readonly beganAt: number
  readonly durationMs: number
  readonly isAcknowledged: boolean
}

export interface Publisher {
  /** Connects. Rejects if no broker answers within the connect deadline. */
  readonly start: () => Promise<void>
  /** Never rejects. `deadlineAt` is a `performance.now()` instant after which the caller no longer waits. */
  readonly publish: (record: RecordToPublish, deadlineAt: number, sequence?: RecordSequence) => Promise<PublishOutcome>
  /** Returns true if the last exchange with the broker succeeded. */
  readonly isConnected: () => boolean
  /** Lets the request in flight finish within `withinMs`, and refuses the rest. */
  readonly stop: (withinMs: number) => Promise<void>
}

/**
 * Publishes with one request in flight. Records that arrive meanwhile, and within the spacing of requests, form the next one.
 * This is cheap, and keeps the sequence of each partition certain. After a request that was not acknowledged as a whole, the
 * next sequence is unknown, so the producer is replaced.
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
  const gathering = createSleeper()
  const deadlines = createDeadlineTimer(() => {
    settleOverdue()
    return nextDeadline()
  })
  const producerOptions = { requestTimeoutMs, connectTimeoutMs, logger, onSocketClosed: replaceIdleProducer }
  const connect = () => connectProducer(connection, producerOptions)
  const link = createProducerLink({ connect, onReplaced: startRequest, logger })
  let request: Promise<void> | undefined
  let inFlight: readonly WaitingRecord[] = []
  let isStopped = false

  /** Connects before the next request, which would otherwise be the first to notice. */
  function replaceIdleProducer(): void {
    if (link.producer() && inFlight.length === 0) link.replace(new Error('The broker closed the connection'))
  }

  /** Starts the next request unless one is in flight. */
  function startRequest(): void {
    if (request || !link.producer() || queue.waiting().length === 0) return
    request = gatherAndSend().finally(() => {
      request = undefined
      startRequest()
    })
  }

  async function gatherAndSend(): Promise<void> {
    const waitMs = spacing.waitMs(performance.now(), queue.waiting().length)
    if (waitMs > 0) await gathering.sleep(waitMs)
    // All records that arrive in this turn of the event loop join the request.
    await setImmediate()
    settleOverdue()
    // The connection may have closed during the wait. Then the records wait for the next one.
    const producer = link.producer()
    if (producer) await send(producer, queue.take())
  }

  async function send(producer: IdempotentProducer, taken: readonly WaitingRecord[]): Promise<void> {
    if (taken.length === 0) return
    const beganAt = performance.now()
    spacing.noticeRequest(beganAt, taken.length)
    inFlight = taken
    const sent = taken.map(({ record }) => record)
    const outcomes = await producer.send(sent)
    inFlight = []
    outcomes.forEach((outcome, index) => taken[index]?.settle(outcome))
    const failures = outcomes.flatMap((one) => ('cause' in one ? one.cause : []))
    const durationMs = performance.now() - beganAt
    if (failures[0]) replaceProducer(failures[0], { records: taken.length, failed: failures.length })
    onRequest({ sent, beganAt, durationMs, isAcknowledged: failures.length === 0 })
  }

  function replaceProducer(cause: Error, counts: object): void {
    logger.warn({ err: cause, ...counts }, 'The log did not acknowledge all records of a request')
    link.replace(cause)
  }

  function settleOverdue(): void {
    const now = performance.now()
    queue.settleOverdue(now)
    for (const { deadlineAt, settle } of inFlight)
      if (deadlineAt <= now) settle({ outcome: 'unknown', cause: new NotAcknowledgedError('ANSWER_OVERDUE') })
  }

  function nextDeadline(): number {
    const unanswered = [...queue.waiting(), ...inFlight.filter(({ isSettled }) => !isSettled())]
    return unanswered.reduce((earliest, { deadlineAt }) => Math.min(earliest, deadlineAt), Infinity)
  }

  const publish: Publisher['publish'] = (record, deadlineAt, sequence) => {
    const waiting = createWaitingRecord(record, deadlineAt, sequence)
    if (isStopped) waiting.settle({ outcome: 'not-published', reason: 'stopped' })
    else if (deadlineAt <= performance.now()) waiting.settle({ outcome: 'not-published', reason: 'deadline' })
    else if (!queue.add(waiting)) waiting.settle({ outcome: 'not-published', reason: 'queue-full' })
    else {
      deadlines.add(deadlineAt)
      startRequest()
      if (areEnough(queue.waiting().length)) gathering.wake()
    }
    return waiting.outcome
  }

  const stop: Publisher['stop'] = async (withinMs) => {
    isStopped = true
    queue.settleAll({ outcome: 'not-published', reason: 'stopped' })
    gathering.wake()
    await Promise.race([request, sleep(withinMs, undefined, { ref: false })])
    const cause = new NotAcknowledgedError('PUBLISHER_STOPPED')
    for (const { settle } of inFlight) settle({ outcome: 'unknown', cause })
    deadlines.stop()
    link.close(cause)
  }

  return { start: link.start, publish, isConnected: () => link.producer() !== undefined, stop }
}
