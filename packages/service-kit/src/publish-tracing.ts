import { HEADERS } from '@nextvisit/contracts'
import type { RecordToPublish } from '@nextvisit/log'
import { sampledContexts } from './trace-context.ts'
import type { Tracing } from './tracing.ts'

/** The part of a request to Kafka that its span shows. */
interface PublishedRequest {
  readonly sent: readonly RecordToPublish[]
  readonly beganAt: number
  readonly durationMs: number
  readonly isAcknowledged: boolean
}

/**
 * Returns a function that records the span of a request to Kafka, if it contains records of sampled requests. It returns the context of
 * the first.
 */
export function createPublishTracing({ record }: Tracing): (request: PublishedRequest) => string | undefined {
  return ({ sent, beganAt, durationMs, isAcknowledged }) => {
    const causes = sampledContexts(sent.map(({ headers }) => headers[HEADERS.traceparent]))
    if (causes.length === 0) return undefined
    const topics = new Set(sent.map(({ topic }) => topic))
    const partitions = new Set(sent.map(({ partition }) => partition))
    const [topic] = topics
    const isOne = topics.size === 1 && topic !== undefined
    record({
      name: isOne ? `send ${topic}` : 'send',
      kind: 'client',
      causes,
      beganAt,
      endedAt: beganAt + durationMs,
      attributes: {
        'messaging.system': 'kafka',
        'messaging.operation.name': 'send',
        'messaging.operation.type': 'send',
        'messaging.batch.message_count': sent.length,
        ...(isOne && { 'messaging.destination.name': topic }),
        ...(isOne && partitions.size === 1 && { 'messaging.destination.partition.id': String(sent[0]?.partition) }),
      },
      error: isAcknowledged ? undefined : 'not_acknowledged',
    })
    return causes[0]
  }
}
