import { Kafka, logLevel, type Producer } from 'kafkajs'

/** Settings that bridge the pause of a broker that a busy machine has fenced. */
const RETRY = { retries: 12, maxRetryTime: 3_000 }

/** Runs the work with a producer that shares no code with the services and creates no topics. */
export async function withProducer<T>(
  { brokers }: { readonly brokers: readonly string[] },
  work: (producer: Producer) => Promise<T>,
): Promise<T> {
  const kafka = new Kafka({ clientId: 'black-box', brokers: [...brokers], logLevel: logLevel.NOTHING, retry: RETRY })
  const producer = kafka.producer({ allowAutoTopicCreation: false })
  await producer.connect()
  try {
    return await work(producer)
  } finally {
    await producer.disconnect()
  }
}
