import { createTestTopic, type FaultProxy, startFaultProxy } from '@nextvisit/testing'
import { afterAll, inject, onTestFinished } from 'vitest'

import { createPublisher, type Publisher, type PublisherOptions } from '../src/publish/publisher.ts'
import type { LogConnection } from '../src/connect/log-connection.ts'
import { readLog } from '../src/read/read-log.ts'
import type { FetchedRecord } from '../src/wire/fetched-record.ts'

/** Returns a connection to the Kafka broker of the specs. */
export function givenConnection(): LogConnection {
  return { brokers: inject('kafkaBrokers').split(','), clientId: 'log-spec' }
}

/** Creates a topic for one spec. */
export async function givenTopic(partitions: number): Promise<string> {
  const { topic } = await createTestTopic(inject('kafkaBrokers'), { partitions, name: 'log-spec' })
  return topic
}

/** Starts a fault proxy before the broker, and returns a connection through it. */
export async function givenFaultProxy(): Promise<{ proxy: FaultProxy; connection: LogConnection }> {
  const { proxy, connection } = await startFaultProxy(givenConnection())
  afterAll(() => proxy.stop())
  return { proxy, connection }
}

/** Starts a publisher for one spec. */
export async function givenPublisher(connection: LogConnection, options?: PublisherOptions): Promise<Publisher> {
  const publisher = createPublisher(connection, options)
  onTestFinished(() => publisher.stop(1_000))
  await publisher.start()
  return publisher
}

/** Publishes values to one partition, in this order. */
export async function givenRecords(topic: string, partition: number, values: readonly string[]): Promise<void> {
  const publisher = createPublisher(givenConnection())
  await publisher.start()
  const deadlineAt = performance.now() + 30_000
  const outcomes = await Promise.all(
    values.map((value) => publisher.publish({ topic, partition, key: value, value, headers: {} }, deadlineAt)),
  )
  await publisher.stop(1_000)
  if (outcomes.some(({ outcome }) => outcome !== 'published')) throw new Error('The records were not published')
}

/** Reads all records of a topic, partition by partition. */
export async function readAll(topic: string, partitions: number): Promise<readonly FetchedRecord[]> {
  const from = new Map(Array.from({ length: partitions }, (_, partition) => [partition, 0n]))
  const records: FetchedRecord[] = []
  await readLog(givenConnection(), {
    topic,
    from,
    onBatch: (batch) => void records.push(...batch.records),
    until: 'end',
  })
  return records.toSorted((a, b) => a.partition - b.partition || Number(a.offset - b.offset))
}
