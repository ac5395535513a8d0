import { promisify } from 'node:util'
import { zstdCompress, zstdDecompress } from 'node:zlib'
import kafkajs, { Kafka, logLevel } from 'kafkajs'
import type { ConsumerName } from '@nextvisit/services'
import type { CampaignStack } from './campaign-stack.ts'

export const USER_EVENTS = 'user-events'

/** Returns the topic that a consumer folds. */
export function topicOf(consumer: ConsumerName): string {
  if (consumer === 'user-eraser') return 'erasures'
  return consumer === 'answer-collector' || consumer === 'webhook-dispatcher' ? 'form-events' : USER_EVENTS
}

// The log may have compressed batches that the services cannot decode. The campaign reads past them.
const compress = promisify(zstdCompress)
const decompress = promisify(zstdDecompress)
kafkajs.CompressionCodecs[kafkajs.CompressionTypes.ZSTD] = () => ({
  compress: ({ buffer }: { readonly buffer: Buffer }) => compress(buffer),
  decompress: (bytes: Buffer) => decompress(bytes),
})

/**
 * A Kafka client for the campaign. It shares no code with the services. Its timeouts are long, because a busy machine
 * may fence the broker.
 */
export function kafkaOf({ brokers }: CampaignStack): Kafka {
  const retry = { retries: 12, maxRetryTime: 3_000 }
  return new Kafka({ clientId: 'faults', brokers: [...brokers], logLevel: logLevel.NOTHING, retry })
}
