import { HEADERS } from '@nextvisit/contracts'
import type { FetchedRecord, FetchTime } from '@nextvisit/log'
import { sampledContexts, type Tracing } from '@nextvisit/service-kit'
import type { PartitionBatch } from './partition-batch.ts'

interface Commit {
  readonly batches: readonly PartitionBatch[]
  readonly beganAt: number
}

/** Returns the trace that a record belongs to. */
export function traceparentOf({ headers }: FetchedRecord): string | undefined {
  return headers[HEADERS.traceparent]
}

/**
 * Returns a function that records the spans of a commit, if it folds records of sampled requests: `process`, and `poll` for each request
 * that fetched such records (semantic conventions of messaging).
 */
export function createCommitTracing(
  { record }: Tracing,
  { topic, groupId }: { readonly topic: string; readonly groupId: string },
): (commit: Commit) => void {
  const attributes = {
    'messaging.system': 'kafka',
    'messaging.destination.name': topic,
    'messaging.consumer.group.name': groupId,
  }
  /** A fetch that several commits fold has one span. */
  const shown = new WeakSet<FetchTime>()

  function recordFetch(time: FetchTime | undefined, batches: readonly PartitionBatch[]): void {
    if (!time || shown.has(time)) return
    const records = batches.flatMap((batch) => batch.records)
    const causes = sampledContexts(records.map(traceparentOf))
    if (causes.length === 0) return
    shown.add(time)
    record({
      name: `poll ${topic}`,
      kind: 'client',
      causes,
      ...time,
      attributes: {
        ...attributes,
        'messaging.operation.name': 'poll',
        'messaging.operation.type': 'receive',
        'messaging.batch.message_count': records.length,
      },
    })
  }

  return ({ batches, beganAt }) => {
    const records = batches.flatMap((batch) => batch.records)
    const causes = sampledContexts(records.map(traceparentOf))
    if (causes.length === 0) return
    const endedAt = performance.now()
    for (const [time, fetched] of Map.groupBy(batches, ({ fetch }) => fetch)) recordFetch(time, fetched)
    const partitions = new Set(batches.map(({ checkpoint }) => checkpoint.key.partition))
    const [partition] = partitions
    record({
      name: `process ${topic}`,
      kind: 'consumer',
      causes,
      beganAt,
      endedAt,
      attributes: {
        ...attributes,
        'messaging.operation.name': 'process',
        'messaging.operation.type': 'process',
        'messaging.batch.message_count': records.length,
        ...(partitions.size === 1 && { 'messaging.destination.partition.id': String(partition) }),
      },
    })
  }
}
