import { randomUUID } from 'node:crypto'
import { withLogAdmin, type LogConnection } from '@nextvisit/log'

/** A topic of a spec's own. `brokers` as `inject('kafkaBrokers')` gives them: separated by commas. */
export async function createTestTopic(
  brokers: string,
  { partitions = 1, name = 'test' }: { readonly partitions?: number; readonly name?: string } = {},
): Promise<{ readonly topic: string; readonly connection: LogConnection }> {
  const connection = { brokers: brokers.split(','), clientId: 'test' }
  const topic = `${name}.${randomUUID()}`
  await withLogAdmin(connection, (admin) => admin.createTopic(topic, { partitions }))
  return { topic, connection }
}
