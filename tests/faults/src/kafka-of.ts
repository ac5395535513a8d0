import { Kafka, logLevel, type Producer } from 'kafkajs'
import type { CampaignStack } from './campaign-stack.ts'

export const USER_EVENTS = 'user-events'

/** A Kafka client for the campaign. It shares no code with the services. Its timeouts are long, because a busy machine may fence the broker. */
export function kafkaOf({ brokers }: CampaignStack): Kafka {
  const retry = { retries: 12, maxRetryTime: 3_000 }
  return new Kafka({ clientId: 'faults', brokers: [...brokers], logLevel: logLevel.NOTHING, retry })
}

/** Runs the work with a producer that creates no topics. */
export async function withProducer<T>(stack: CampaignStack, work: (producer: Producer) => Promise<T>): Promise<T> {
  const producer = kafkaOf(stack).producer({ allowAutoTopicCreation: false })
  await producer.connect()
  try {
    return await work(producer)
  } finally {
    await producer.disconnect()
  }
}
