import type { CatalogView } from '@nextvisit/catalog'
import { staticCatalog } from '@nextvisit/catalog/test/static-catalog.ts'
import { type Consumer, createUserKeys, offlineParts, type Projection } from '@nextvisit/consumer'
import { USER_KEYS_TOPIC } from '@nextvisit/contracts'
import { asRole, openCommitDb, prepareServiceSchema, withClient } from '@nextvisit/database'
import type { GivenLog } from '@nextvisit/consumer/test/given-log.ts'
import { givenProjectionRunner } from '@nextvisit/consumer/test/given-runner.ts'
import { visitsConsumer } from '@nextvisit/consumer/test/visits-consumer.ts'
import { type LogConnection, type Publisher, readWatermarks, withLogAdmin } from '@nextvisit/log'
import { createTestDatabase, testKeyOf, testKeyRing } from '@nextvisit/testing'
import { keyRecordOf } from '@nextvisit/user-keys'
import { expect, inject, onTestFinished } from 'vitest'
import { replayConsumer, type ReplayEnvironment, type ReplayRequest } from '../src/replay/replay-consumer.ts'

const ignore = (): void => {}

/** Wraps the rebuilt projection. */
type Around = (projection: Projection) => Projection

/** The topic of data keys, and the ring that wraps them. */
const TEST_KEYS = { ring: testKeyRing, topic: USER_KEYS_TOPIC }

interface ReplayOptions {
  readonly connection: LogConnection
  readonly catalog?: CatalogView
  /** The keys of the live fold. A replay knows their topic by its name only. */
  readonly keys?: typeof TEST_KEYS
}

/** Creates a consumer's live read models in a database and with a role of their own, and replays of them. */
export async function givenReplay(
  described: Consumer,
  { connection, catalog = staticCatalog([]), keys = TEST_KEYS }: ReplayOptions,
) {
  const { schema } = described
  // Roles are shared by the databases of a server, so this role must not be that of other specs.
  const consumer: Consumer = { ...described, role: `nextvisit_test_${schema}` }
  const database = await createTestDatabase(inject('databaseUrl'), { schema: 'not_this_one' })
  const adminUrl = database.url
  await prepareServiceSchema({ ...consumer, adminUrl, password: 'test' })
  const url = asRole(adminUrl, consumer.role, 'test')
  const db = openCommitDb({ url, schema, applicationName: 'spec' })
  onTestFinished(async () => {
    await db.$disconnect()
    await database.drop()
  })

  const replay = (
    request: Partial<ReplayRequest> = {},
    { around = (projection) => projection, ...environment }: Partial<ReplayEnvironment> & { around?: Around } = {},
  ) =>
    replayConsumer(
      { ...consumer, projection: (parts) => around(consumer.projection(parts)) },
      { isDryRun: false, acceptsDifferences: false, restart: false, ...request },
      {
        adminUrl,
        connection,
        catalog,
        keyRing: consumer.opensRecords && keys.ring,
        onBegin: ignore,
        onProgress: ignore,
        onLost: ignore,
        onStep: ignore,
        onPause: ignore,
        onCompared: ignore,
        ...environment,
      },
    )

  /** Starts the consumer's live fold, until the test ends. */
  const startLive = async () => {
    const projection = consumer.projection(offlineParts(() => Promise.resolve(1)))
    const readMarks = (topic: string) => readWatermarks(connection, topic)
    const userKeys =
      consumer.opensRecords && createUserKeys({ ...keys, connection, projection: consumer.name, readMarks })
    onTestFinished(() => userKeys?.stop())
    const own = { catalog, tickEveryMs: 100, userKeys }
    const { onFailure } = await givenProjectionRunner(projection, connection, db, own)
    return { onFailure }
  }

  const asAdmin = (text: string) => withClient(adminUrl, (client) => client.query(text))
  return { db, url, adminUrl, replay, startLive, asAdmin }
}

/** Publishes the keys of these users, whose records are in partition 0. A replay knows their topic by its name only. */
export async function publishTestKeys(
  connection: LogConnection,
  publisher: Publisher,
  userIds: readonly string[],
): Promise<void> {
  await withLogAdmin(connection, (admin) => admin.createTopic(USER_KEYS_TOPIC, { partitions: 1 }))
  const deadlineAt = performance.now() + 20_000
  for (const userId of new Set(userIds)) {
    const { outcome } = await publisher.publish(keyRecordOf(testKeyOf(userId).wrapped, 0), deadlineAt)
    expect(outcome).toBe('published')
  }
}

/** Returns the consumer with a topic of the test. */
export function onTopic(consumer: Consumer, topic: string): Consumer {
  return { ...consumer, projection: (parts) => ({ ...consumer.projection(parts), topic }) }
}

/** Creates the example's live read models over the test's log, and replays of them. */
export function givenVisitsReplay({ topic, connection }: GivenLog) {
  return givenReplay(visitsConsumer(topic), { connection })
}
