import { randomUUID } from 'node:crypto'
import type { Message } from 'kafkajs'
import { eventually } from '@nextvisit/testing/black-box'
import type { CampaignStack } from './campaign-stack.ts'
import { kafkaOf, USER_EVENTS } from './kafka-of.ts'

const READ_WITHIN_MS = 30_000

/** A message of the log that can be published again. */
export interface StoredMessage extends Message {
  readonly partition: number
}

/** Reads up to `atMost` matching records, from the beginning to the present end of the log. Values may be poison. */
export async function readMessages(
  stack: CampaignStack,
  isWanted: (value: Buffer) => boolean,
  atMost = Infinity,
): Promise<StoredMessage[]> {
  const found: StoredMessage[] = []
  const unread = await endsOfLog(stack)
  const consumer = kafkaOf(stack).consumer({ groupId: `faults-${randomUUID()}`, maxWaitTimeInMs: 100 })
  await consumer.connect()
  await consumer.subscribe({ topic: USER_EVENTS, fromBeginning: true })
  await consumer.run({
    autoCommit: false,
    eachMessage: async ({ partition, message: { offset, key, value, headers } }) => {
      if (value && isWanted(value)) found.push({ partition, key, value, ...(headers && { headers }) })
      if (Number(offset) + 1 >= (unread.get(partition) ?? 0)) unread.delete(partition)
    },
  })
  const isRead = await eventually(async () => found.length >= atMost || unread.size === 0, Boolean, READ_WITHIN_MS)
  await consumer.disconnect()
  if (!isRead) throw new Error(`The log was not read within ${READ_WITHIN_MS / 1_000} s`)
  return found.slice(0, atMost)
}

/** Reads the end offset of each partition with records. */
async function endsOfLog(stack: CampaignStack): Promise<Map<number, number>> {
  const admin = kafkaOf(stack).admin()
  await admin.connect()
  try {
    const ends = await admin.fetchTopicOffsets(USER_EVENTS)
    return new Map(ends.map(({ partition, high }) => [partition, Number(high)] as const).filter(([, end]) => end > 0))
  } finally {
    await admin.disconnect()
  }
}
