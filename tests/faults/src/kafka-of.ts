import { Kafka, logLevel } from 'kafkajs'
import type { CampaignStack } from './campaign-stack.ts'

export const USER_EVENTS = 'user-events'

/**
 * A Kafka client for the campaign. It shares no code with the services. Its timeouts are long, because a busy machine
 * may fence the broker.
 */
export function kafkaOf({ brokers }: CampaignStack): Kafka {
  const retry = { retries: 12, maxRetryTime: 3_000 }
  return new Kafka({ clientId: 'faults', brokers: [...brokers], logLevel: logLevel.NOTHING, retry })
}
