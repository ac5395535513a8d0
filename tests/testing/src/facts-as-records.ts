import { encodeRecord } from '@nextvisit/contracts'
import type { FetchedBatch, FetchedRecord } from '@nextvisit/log'
import { testSealOf } from './test-keys.ts'

const RECORD_TIME = '2026-11-02T10:00:00.000Z'

/** Returns facts as the records of one partition, from offset 0. The keys of {@link testKeyOf} seal their personal members. */
export function factsAsRecords(
  facts: readonly { readonly id: string; readonly type: string }[],
  { topic = 'user-events', partition = 0, replyTo }: { topic?: string; partition?: number; replyTo?: string } = {},
): FetchedRecord[] {
  return facts.map((fact, index) => {
    const seal = 'userId' in fact ? testSealOf(String(fact.userId)) : undefined
    const { value, headers } = encodeRecord(fact, { source: 'test', time: RECORD_TIME, replyTo, seal })
    return {
      topic,
      partition,
      offset: BigInt(index),
      timestampMs: Date.parse(RECORD_TIME) + index,
      key: Buffer.from('key'),
      value: Buffer.from(value),
      headers,
    }
  })
}

/** Returns the records between two offsets as one fetch. */
export function batchOf(records: readonly FetchedRecord[], from = 0, to = records.length): FetchedBatch {
  const [first] = records
  return {
    topic: first?.topic ?? 'user-events',
    partition: first?.partition ?? 0,
    fetchedFrom: BigInt(from),
    nextOffset: BigInt(to),
    highWatermark: BigInt(records.length),
    records: records.slice(from, to),
  }
}

/** Returns all records in fetches of `size`. */
export function batchesOf(records: readonly FetchedRecord[], size: number): FetchedBatch[] {
  return Array.from({ length: Math.ceil(records.length / size) }, (_, index) =>
    batchOf(records, index * size, Math.min((index + 1) * size, records.length)),
  )
}

/** Inserts a record that is not JSON at offset 1, and moves later records up. */
export function withPoison(records: readonly FetchedRecord[]): FetchedRecord[] {
  const poison = { ...records[0], value: Buffer.from('{"broken') } as FetchedRecord
  return records.toSpliced(1, 0, poison).map((record, index) => ({ ...record, offset: BigInt(index) }))
}
