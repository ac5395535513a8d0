import { topicPartition, type Watermarks } from '@nextvisit/log'
import type { StoredCheckpoint } from './read-consumer.ts'

/**
 * Returns the lag of a consumer: the records between each checkpoint and its partition's end, and the age in seconds of the
 * last folded record in the partition that lags most. The age is null if a partition was never read: one of the consumer's
 * topics without a checkpoint.
 */
export function lagOf(
  checkpoints: readonly StoredCheckpoint[],
  watermarks: ReadonlyMap<string, ReadonlyMap<number, Watermarks>>,
  nowMs: number,
): { readonly records: number; readonly seconds: number | null } {
  const topics = new Set(checkpoints.map((checkpoint) => checkpoint.topic))
  const byPartition = new Map(
    checkpoints.map((checkpoint) => [topicPartition(checkpoint.topic, checkpoint.partition), checkpoint]),
  )
  const behind = [...watermarks]
    .filter(([topic]) => topics.has(topic))
    .flatMap(([topic, partitions]) => [...partitions].map(([partition, marks]) => ({ topic, partition, marks })))
    .map(({ topic, partition, marks }) => {
      const checkpoint = byPartition.get(topicPartition(topic, partition))
      return { records: marks.high - (checkpoint?.nextOffset ?? marks.low), sinceMs: checkpoint?.recordTimeMs }
    })
    .filter(({ records }) => records > 0n)
  const records = Number(behind.reduce((sum, partition) => sum + partition.records, 0n))
  if (behind.some(({ sinceMs }) => sinceMs === undefined)) return { records, seconds: null }
  const oldestMs = Math.min(nowMs, ...behind.map(({ sinceMs = nowMs }) => sinceMs))
  return { records, seconds: Math.round((nowMs - oldestMs) / 1_000) }
}
