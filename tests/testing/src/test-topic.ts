import { randomUUID } from 'node:crypto'
import { withLogAdmin, type LogConnection } from '@nextvisit/log'
import { Kafka } from 'kafkajs'

/** Creates a topic for one spec. `brokers` is the value of `inject('kafkaBrokers')`, separated by commas. */
export async function createTestTopic(
  brokers: string,
  { partitions = 1, name = 'test' }: { readonly partitions?: number; readonly name?: string } = {},
): Promise<{ readonly topic: string; readonly connection: LogConnection }> {
  const connection = { brokers: brokers.split(','), clientId: 'test' }
  const topic = `${name}.${randomUUID()}`
  await withLogAdmin(connection, (admin) => admin.createTopic(topic, { partitions }))
  return { topic, connection }
}

/** Deletes a partition's records below an offset, as retention does. */
export async function deleteRecords(
  { brokers }: Pick<LogConnection, 'brokers'>,
  topic: string,
  { partition, before }: { readonly partition: number; readonly before: number },
): Promise<void> {
  const admin = new Kafka({ brokers: [...brokers] }).admin()
  await admin.connect()
  await admin.fetchTopicMetadata({ topics: [topic] }) // kafkajs needs it to find the leader
  await admin.deleteTopicRecords({ topic, partitions: [{ partition, offset: String(before) }] })
  await admin.disconnect()
}

/** Adds partitions to a topic, like an operator's mistake. */
export async function addPartitions(
  { brokers }: Pick<LogConnection, 'brokers'>,
  topic: string,
  count: number,
): Promise<void> {
  const admin = new Kafka({ brokers: [...brokers] }).admin()
  await admin.connect()
  await admin.createPartitions({ topicPartitions: [{ topic, count }] })
  await admin.disconnect()
}
