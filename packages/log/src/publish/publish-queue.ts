import type { PublishOutcome, RecordSequence, RecordToPublish } from './publish-outcome.ts'

/** A record whose caller waits. */
export interface WaitingRecord {
  readonly record: RecordToPublish
  readonly bytes: number
  /** A `performance.now()` instant. */
  readonly deadlineAt: number
  readonly sequence: RecordSequence | undefined
  /** The answer to the caller. */
  readonly outcome: Promise<PublishOutcome>
  /** Answers the caller. Later calls do nothing. */
  readonly settle: (outcome: PublishOutcome) => void
  readonly isSettled: () => boolean
}

interface PublishQueueLimits {
  readonly maxQueuedRecords: number
  readonly maxQueuedBytes: number
  readonly maxBatchRecords: number
  readonly maxBatchBytes: number
}

/** Records that wait for the next request: first in, first out, bounded in records and bytes. */
interface PublishQueue {
  /** Adds a record. Returns false if the queue is full. */
  readonly add: (waiting: WaitingRecord) => boolean
  /** Takes the oldest records that fit into one request, in order of arrival: at least one if there is any. */
  readonly take: () => readonly WaitingRecord[]
  /** Answers the records whose deadline has passed, or whose sequence is broken. */
  readonly settleOverdue: (now: number) => void
  readonly settleAll: (outcome: PublishOutcome) => void
  readonly waiting: () => readonly WaitingRecord[]
}

export function createWaitingRecord(
  record: RecordToPublish,
  deadlineAt: number,
  sequence: RecordSequence | undefined,
): WaitingRecord {
  const { promise, resolve } = Promise.withResolvers<PublishOutcome>()
  let isSettled = false
  const settle = (outcome: PublishOutcome): void => {
    if (isSettled) return
    isSettled = true
    if (sequence && outcome.outcome !== 'published') sequence.isBroken = true
    resolve(outcome)
  }
  return { record, bytes: sizeOf(record), deadlineAt, sequence, outcome: promise, settle, isSettled: () => isSettled }
}

export function createPublishQueue(limits: PublishQueueLimits): PublishQueue {
  let queued: WaitingRecord[] = []
  let queuedBytes = 0

  const add = (waiting: WaitingRecord): boolean => {
    if (queued.length >= limits.maxQueuedRecords || queuedBytes + waiting.bytes > limits.maxQueuedBytes) return false
    queued.push(waiting)
    queuedBytes += waiting.bytes
    return true
  }

  const take = (): readonly WaitingRecord[] => {
    let records = 0
    let bytes = 0
    for (const waiting of queued) {
      if (records === limits.maxBatchRecords) break
      if (records > 0 && bytes + waiting.bytes > limits.maxBatchBytes) break
      records += 1
      bytes += waiting.bytes
    }
    queuedBytes -= bytes
    return queued.splice(0, records)
  }

  const settleOverdue = (now: number): void => {
    const refused = queued.filter(({ deadlineAt, sequence }) => deadlineAt <= now || sequence?.isBroken === true)
    if (refused.length === 0) return
    const isRefused = new Set(refused)
    queued = queued.filter((waiting) => !isRefused.has(waiting))
    for (const { bytes, deadlineAt, settle } of refused) {
      queuedBytes -= bytes
      settle({ outcome: 'not-published', reason: deadlineAt <= now ? 'deadline' : 'broken-sequence' })
    }
  }

  const settleAll = (outcome: PublishOutcome): void => {
    for (const { settle } of queued) settle(outcome)
    queued = []
    queuedBytes = 0
  }

  return { add, take, settleOverdue, settleAll, waiting: () => queued }
}

/** Returns a record's approximate size in a request, in bytes: its strings (headers are ASCII) and the format's overhead. */
function sizeOf({ key, value, headers }: RecordToPublish): number {
  let bytes = 64 + Buffer.byteLength(key) + Buffer.byteLength(value ?? '')
  for (const [name, header] of Object.entries(headers)) bytes += 4 + name.length + header.length
  return bytes
}
