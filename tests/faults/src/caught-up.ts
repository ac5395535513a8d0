import { type CampaignStack, CONSUMERS } from './campaign-stack.ts'
import { kafkaOf } from './kafka-of.ts'
import { queryRows } from './query-rows.ts'

interface Checkpoint {
  readonly topic: string
  readonly partition: number
  readonly next: string
}

/** Whether every consumer has folded the whole log. Unlike an audit, it is cheap enough to poll. */
export async function isCaughtUp(stack: CampaignStack): Promise<boolean> {
  try {
    const checkpoints = await checkpointsOf(stack)
    const topics = new Set(checkpoints.map(({ topic }) => topic))
    const ends = await endsOf(stack, [...topics])
    return checkpoints.every(({ topic, partition, next }) => BigInt(next) >= (ends.get(`${topic}/${partition}`) ?? 0n))
  } catch {
    return false // Kafka or Postgres is not back yet
  }
}

async function checkpointsOf(stack: CampaignStack): Promise<Checkpoint[]> {
  const sql = 'SELECT topic, partition, next_offset AS next FROM checkpoints'
  return (await Promise.all(CONSUMERS.map((consumer) => queryRows<Checkpoint>(stack, consumer, sql)))).flat()
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
