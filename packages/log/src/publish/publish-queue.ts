import type { PublishOutcome, RecordSequence, RecordToPublish } from './publisher.ts'

/** A record whose caller waits. `settle` answers the caller once. Later calls do nothing. */
export interface WaitingRecord {
  readonly record: RecordToPublish
  readonly bytes: number
  /** A `performance.now()` instant. */
  readonly deadlineAt: number
  readonly sequence: RecordSequence | undefined
  readonly settle: (outcome: PublishOutcome) => void
  readonly isSettled: () => boolean
}

interface PublishQueue {
  /** Adds a record. Returns false if the queue is full. */
  readonly add: (waiting: WaitingRecord) => boolean
  /** Takes the oldest records that fit into one request, in order of arrival: at least one if there is any. */
  readonly take: () => readonly WaitingRecord[]
  /** Takes the records whose deadline has passed, or whose sequence is broken. */
  readonly takeRefused: (now: number) => readonly WaitingRecord[]
  readonly takeAll: () => readonly WaitingRecord[]
  readonly waiting: () => readonly WaitingRecord[]
}

interface PublishQueueLimits {
  readonly maxQueuedRecords: number
  readonly maxQueuedBytes: number
  readonly maxBatchRecords: number
  readonly maxBatchBytes: number
}

/** Records that wait for the next request: first in, first out, bounded in records and bytes. */
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

  const takeRefused = (now: number): readonly WaitingRecord[] => {
    const isRefused = ({ deadlineAt, sequence }: WaitingRecord) => deadlineAt <= now || sequence?.isBroken === true
    const refused = queued.filter(isRefused)
    if (refused.length === 0) return refused
    queued = queued.filter((waiting) => !isRefused(waiting))
    queuedBytes -= sumOfBytes(refused)
    return refused
  }

  const takeAll = (): readonly WaitingRecord[] => {
    const all = queued
    queued = []
    queuedBytes = 0
    return all
  }

  return { add, take, takeRefused, takeAll, waiting: () => queued }
}

/** A record's approximate size in a request, bytes: its strings (headers are ASCII) and what the format adds. */
export function sizeOf({ key, value, headers }: RecordToPublish): number {
  let bytes = 64 + Buffer.byteLength(key) + Buffer.byteLength(value ?? '')
  for (const [name, header] of Object.entries(headers)) bytes += 4 + name.length + header.length
  return bytes
}

function sumOfBytes(records: readonly WaitingRecord[]): number {
  return records.reduce((sum, { bytes }) => sum + bytes, 0)
}
