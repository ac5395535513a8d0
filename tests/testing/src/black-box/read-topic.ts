import { randomUUID } from 'node:crypto'
import { type IHeaders, Kafka, logLevel } from 'kafkajs'

/** A message of Kafka, read without the services' code. */
export interface TopicMessage {
  readonly partition: number
  readonly offset: string
  /** Kafka's time of the record, ms since the epoch. */
  readonly timestamp: string
  readonly key: Buffer | null
  readonly headers: IHeaders
  readonly value: Buffer | null
}

/** A record: a message whose value is JSON. */
export interface TopicRecord extends Omit<TopicMessage, 'value'> {
  readonly value: Readonly<Record<string, unknown>>
}

/** Reads all records of a topic up to its present end. */
export async function readTopic(brokers: readonly string[], topic: string): Promise<TopicRecord[]> {
  return (await readMessages(brokers, topic)).map((message) => ({
    ...message,
    value: JSON.parse(message.value?.toString('utf8') ?? 'null') as Record<string, unknown>,
  }))
}

/** Reads all messages of a topic up to its present end, with a separate client that shares no code with the services. */
export async function readMessages(brokers: readonly string[], topic: string): Promise<TopicMessage[]> {
  const kafka = new Kafka({ clientId: 'black-box', brokers: [...brokers], logLevel: logLevel.NOTHING })
  const admin = kafka.admin()
  await admin.connect()
  const ends = new Map((await admin.fetchTopicOffsets(topic)).map((end) => [end.partition, Number(end.high)]))
  await admin.disconnect()

  const records: TopicMessage[] = []
  const positions = new Map([...ends].map(([partition]) => [partition, 0]))
  const isDone = () => [...ends].every(([partition, end]) => (positions.get(partition) ?? 0) >= end)
  if (isDone()) return records

  const consumer = kafka.consumer({ groupId: `black-box-${randomUUID()}`, maxWaitTimeInMs: 100 })
  await consumer.connect()
  await consumer.subscribe({ topic, fromBeginning: true })
  await new Promise<void>((resolve, reject) => {
    consumer.on(consumer.events.CRASH, ({ payload }) => reject(payload.error))
    void consumer.run({
      autoCommit: false,
      eachBatch: async ({ batch }) => {
        for (const message of batch.messages) {
          records.push({
            partition: batch.partition,
            offset: message.offset,
            timestamp: message.timestamp,
            key: message.key,
            headers: message.headers ?? {},
            value: message.value,
          })
        }
        positions.set(batch.partition, Number(batch.lastOffset()) + 1)
        if (isDone()) resolve()
      },
    })
  })
  await consumer.disconnect()
  return records.toSorted((one, other) => one.partition - other.partition || Number(one.offset) - Number(other.offset))
}
