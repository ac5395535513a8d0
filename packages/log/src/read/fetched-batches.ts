import type { IHeaders, KafkaMessage } from 'kafkajs'

import { UndecodableBatchError } from '../errors.ts'
import type { FetchedBatch, FetchedRecord } from './record-consumer.ts'

/** kafkajs' Batch, with the field that its types leave out. */
export interface KafkaBatch {
  readonly topic: string
  readonly partition: number
  readonly highWatermark: string
  /** Where the fetch began. */
  readonly fetchedOffset: string
  readonly messages: readonly (KafkaMessage & { readonly undecodable?: Error })[]
  readonly lastOffset: () => string
}

/**
 * What one fetch returned, in batches of at most `maxBatchRecords`. Each begins where the one before it ended. They end
 * before the first records that cannot be decoded (infra/patches). Throws UndecodableBatchError if these come first.
 */
export function toFetchedBatches(batch: KafkaBatch, maxBatchRecords: number): readonly FetchedBatch[] {
  const { topic, partition } = batch
  const highWatermark = BigInt(batch.highWatermark)
  const undecodableAt = batch.messages.findIndex(({ undecodable }) => undecodable)
  if (undecodableAt === 0) {
    throw new UndecodableBatchError(topic, partition, batch.fetchedOffset, { cause: batch.messages[0]?.undecodable })
  }
  const messages = undecodableAt < 0 ? batch.messages : batch.messages.slice(0, undecodableAt)
  const end = BigInt(undecodableAt < 0 ? batch.lastOffset() : (messages.at(-1)?.offset ?? '')) + 1n
  const records = messages.map((message) => toFetchedRecord(topic, partition, message))
  const batches: FetchedBatch[] = []
  let fetchedFrom = BigInt(batch.fetchedOffset)
  for (let at = 0; at === 0 || at < records.length; at += maxBatchRecords) {
    const nextOffset = records[at + maxBatchRecords]?.offset ?? end
    const part = records.slice(at, at + maxBatchRecords)
    batches.push({ topic, partition, fetchedFrom, nextOffset, highWatermark, records: part })
    fetchedFrom = nextOffset
  }
  return batches
}

function toFetchedRecord(topic: string, partition: number, message: KafkaMessage): FetchedRecord {
  return {
    topic,
    partition,
    offset: BigInt(message.offset),
    timestampMs: Number(message.timestamp),
    key: message.key,
    value: message.value,
    headers: message.headers ? toHeaders(message.headers) : {},
  }
}

/** A producer may choose any header name, `__proto__` too. Of equal names the last wins. Headers without a value are left out. */
function toHeaders(headers: Readonly<Record<string, IHeaders[string] | null>>): Readonly<Record<string, string>> {
  const texts: Record<string, string> = {}
  for (const name of Object.keys(headers)) {
    const value = headers[name]
    const last = Array.isArray(value) ? value.at(-1) : value
    if (last === undefined || last === null) continue
    if (name === '__proto__') Object.defineProperty(texts, name, { value: last.toString(), enumerable: true })
    else texts[name] = last.toString()
  }
  return texts
}
