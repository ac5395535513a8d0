import { Kafka, logLevel } from 'kafkajs'
import type { CampaignStack } from './campaign-stack.ts'

export const USER_EVENTS = 'user-events'

/** A client of the campaign's own, which shares no code with the services'. */
export function kafkaOf({ brokers }: CampaignStack): Kafka {
  return new Kafka({ clientId: 'faults', brokers: [...brokers], logLevel: logLevel.NOTHING })
}
