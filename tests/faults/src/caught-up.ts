import type { ConsumerName } from '@nextvisit/services'
import { eventually } from '@nextvisit/testing/black-box'
import type { CampaignStack } from './campaign-stack.ts'
import { kafkaOf, USER_EVENTS } from './kafka-of.ts'
import { queryAsAdmin } from './query-rows.ts'

interface Checkpoint {
  readonly consumer: ConsumerName
  readonly topic: string
  readonly partition: number
  readonly next: string
}

/** Returns true if every consumer has folded the whole log. Unlike an audit, it is cheap enough to poll. */
export async function isCaughtUp(stack: CampaignStack): Promise<boolean> {
  try {
    const checkpoints = await checkpointsOf(stack)
    const topics = new Set(checkpoints.map(({ topic }) => topic))
    const ends = await endsOf(stack, [...topics])
    return checkpoints.every((checkpoint) => hasReached(checkpoint, ends))
  } catch {
    return false // Kafka or Postgres is not back yet
  }
}

/** Returns true if every consumer folds the present log within this time. Halted partitions are excepted. */
export async function foldsWithin(
  stack: CampaignStack,
  withinMs: number,
  isHalted: (consumer: ConsumerName, partition: number) => boolean,
): Promise<boolean> {
  const ends = await endsOf(stack, [USER_EVENTS])
  const isFolded = async (): Promise<boolean> =>
    (await checkpointsOf(stack)).every((one) => isHalted(one.consumer, one.partition) || hasReached(one, ends))
  return eventually(isFolded, Boolean, withinMs)
}

function hasReached({ topic, partition, next }: Checkpoint, ends: ReadonlyMap<string, bigint>): boolean {
  return BigInt(next) >= (ends.get(`${topic}/${partition}`) ?? 0n)
}

async function checkpointsOf(stack: CampaignStack): Promise<Checkpoint[]> {
  const selects = Array.from(
    stack.schemas,
    ([consumer, { schema }]) =>
      `SELECT '${consumer}' AS consumer, topic, partition, next_offset AS next FROM ${schema}.checkpoints`,
  )
  return queryAsAdmin(stack, selects.join(' UNION ALL '))
}

async function endsOf(stack: CampaignStack, topics: readonly string[]): Promise<ReadonlyMap<string, bigint>> {
  const admin = kafkaOf(stack).admin()
  await admin.connect()
  try {
    const found = await Promise.all(
      topics.map(async (topic) => {
        const partitions = await admin.fetchTopicOffsets(topic)
        return partitions.map(({ partition, high }) => [`${topic}/${partition}`, BigInt(high)] as const)
      }),
    )
    return new Map(found.flat())
  } finally {
    await admin.disconnect()
  }
}
