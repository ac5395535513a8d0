import type { IHeaders, KafkaMessage } from 'kafkajs'

import type { FetchedPartition } from '../wire/fetch-message.ts'
import type { FetchedRecord } from './record-consumer.ts'

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

/** The same in our own form. */
export function fromKafkajs(batch: KafkaBatch): Omit<FetchedPartition, 'errorCode'> {
  const { topic, partition } = batch
  const undecodableAt = batch.messages.findIndex(({ undecodable }) => undecodable)
  const undecodable = batch.messages[undecodableAt]?.undecodable
  const messages = undecodableAt < 0 ? batch.messages : batch.messages.slice(0, undecodableAt)
  const fetchedFrom = BigInt(batch.fetchedOffset)
  const last = undecodableAt < 0 ? batch.lastOffset() : messages.at(-1)?.offset
  return {
    topic,
    partition,
    fetchedFrom,
    highWatermark: BigInt(batch.highWatermark),
    nextOffset: last === undefined ? fetchedFrom : BigInt(last) + 1n,
    records: messages.map((message) => toFetchedRecord(topic, partition, message)),
    ...(undecodable && { undecodable }),
  }
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
