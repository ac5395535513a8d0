import { Kafka, logLevel } from 'kafkajs'
import type { CampaignStack } from './campaign-stack.ts'

export const USER_EVENTS = 'user-events'

/** A Kafka client for the campaign. It shares no code with the services. */
export function kafkaOf({ brokers }: CampaignStack): Kafka {
  return new Kafka({ clientId: 'faults', brokers: [...brokers], logLevel: logLevel.NOTHING })
}
