import { randomUUID } from 'node:crypto'
import { withLogAdmin, type LogConnection } from '@nextvisit/log'

/** Creates a topic for one spec. `brokers` is the value of `inject('kafkaBrokers')`: separated by commas. */
export async function createTestTopic(
  brokers: string,
  { partitions = 1, name = 'test' }: { readonly partitions?: number; readonly name?: string } = {},
): Promise<{ readonly topic: string; readonly connection: LogConnection }> {
  const connection = { brokers: brokers.split(','), clientId: 'test' }
  const topic = `${name}.${randomUUID()}`
  await withLogAdmin(connection, (admin) => admin.createTopic(topic, { partitions }))
  return { topic, connection }
}
