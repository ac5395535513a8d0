import { DEFAULT_PARTITIONS, TOPICS } from '@nextvisit/contracts'
import { createLogAdmin, type LogConnection } from '@nextvisit/log'

const KEPT_FOR_EVER = { 'cleanup.policy': 'delete', 'retention.ms': '-1', 'retention.bytes': '-1' }

/** Makes the topics that are not there yet. */
export async function createTopics(connection: LogConnection): Promise<void> {
  const admin = createLogAdmin(connection)
  await admin.connect()
  try {
    await admin.createTopic(TOPICS.userEvents, { partitions: DEFAULT_PARTITIONS, config: KEPT_FOR_EVER })
    await admin.createTopic(TOPICS.formEvents, { partitions: DEFAULT_PARTITIONS, config: KEPT_FOR_EVER })
    await admin.createTopic(TOPICS.catalog, { partitions: 1, config: KEPT_FOR_EVER })
  } finally {
    await admin.disconnect()
  }
}
