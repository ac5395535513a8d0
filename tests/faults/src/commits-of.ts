import { eventually } from '@nextvisit/testing/black-box'
import type { CampaignStack, Consumer } from './campaign-stack.ts'
import { USER_EVENTS } from './kafka-of.ts'
import { queryRows } from './query-rows.ts'

/** By partition of `user-events`; raised by every commit, whoever made it. */
export type Commits = ReadonlyMap<number, number>

/** A consumer's checkpoints as they stand in Postgres. */
export async function commitsOf(stack: CampaignStack, consumer: Consumer): Promise<Commits> {
  const rows = await queryRows<{ partition: number; version: string }>(
    stack,
    consumer,
    `SELECT partition, version FROM checkpoints WHERE topic = '${USER_EVENTS}'`,
  )
  return new Map(rows.map(({ partition, version }) => [partition, Number(version)]))
}

/** How many of these partitions were committed on since. */
export function movedSince(before: Commits, now: Commits, partitions: readonly number[]): number {
  return partitions.filter((partition) => (now.get(partition) ?? 0) > (before.get(partition) ?? 0)).length
}

/** Resolves right after a commit, as others are under way; to false if there was none for long. */
export async function afterCommitOf(stack: CampaignStack, consumer: Consumer): Promise<boolean> {
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
