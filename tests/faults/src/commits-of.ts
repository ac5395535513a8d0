import { eventually } from '@nextvisit/testing/black-box'
import type { CampaignStack, FoldingConsumer } from './campaign-stack.ts'
import { topicOf } from './kafka-of.ts'
import { queryRows } from './query-rows.ts'

/** The checkpoint's version by partition of the consumer's topic. Every commit of any owner increments it. */
type Commits = ReadonlyMap<number, number>

/** Reads the versions of a consumer's checkpoints from Postgres. */
export async function commitsOf(stack: CampaignStack, consumer: FoldingConsumer): Promise<Commits> {
  const rows = await queryRows<{ partition: number; version: string }>(
    stack,
    consumer,
    `SELECT partition, version FROM checkpoints WHERE topic = '${topicOf(consumer)}'`,
  )
  return new Map(rows.map(({ partition, version }) => [partition, Number(version)]))
}

/** Counts the partitions with a newer commit. */
export function movedSince(before: Commits, now: Commits, partitions: readonly number[]): number {
  return partitions.filter((partition) => (now.get(partition) ?? 0) > (before.get(partition) ?? 0)).length
}

/** Resolves to true right after a commit, while other work is in progress; to false if no commit occurred in time. */
export async function afterCommitOf(stack: CampaignStack, consumer: FoldingConsumer): Promise<boolean> {
  const before = await commitsOf(stack, consumer)
  const partitions = [...before.keys()]
  const count = await eventually(
    async () => movedSince(before, await commitsOf(stack, consumer), partitions),
    (moved) => moved > 0,
    10_000,
    5,
  )
  return count > 0
}
