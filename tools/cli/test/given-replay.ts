import type { CatalogView } from '@nextvisit/catalog'
import { staticCatalog } from '@nextvisit/catalog/test/static-catalog.ts'
import { type Consumer, offlineParts, type Projection } from '@nextvisit/consumer'
import { asRole, openCommitDb, prepareServiceSchema, withClient } from '@nextvisit/database'
import type { GivenLog } from '@nextvisit/consumer/test/given-log.ts'
import { givenProjectionRunner } from '@nextvisit/consumer/test/given-runner.ts'
import { visitsConsumer } from '@nextvisit/consumer/test/visits-consumer.ts'
import type { LogConnection } from '@nextvisit/log'
import { createTestDatabase } from '@nextvisit/testing'
import { inject, onTestFinished } from 'vitest'
import { replayConsumer, type ReplayEnvironment, type ReplayRequest } from '../src/replay/replay-consumer.ts'

const ignore = (): void => {}

/** Wraps the rebuilt projection. */
type Around = (projection: Projection) => Projection

/** Creates a consumer's live read models in a database and with a role of their own, and replays of them. */
export async function givenReplay(
  described: Consumer,
  { connection, catalog = staticCatalog([]) }: { readonly connection: LogConnection; readonly catalog?: CatalogView },
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
    const { onFailure } = await givenProjectionRunner(projection, connection, db, { catalog, tickEveryMs: 100 })
    return { onFailure }
  }

  const asAdmin = (text: string) => withClient(adminUrl, (client) => client.query(text))
  return { db, url, adminUrl, replay, startLive, asAdmin }
}

/** Returns the consumer with a topic of the test. */
export function onTopic(consumer: Consumer, topic: string): Consumer {
  return { ...consumer, projection: (parts) => ({ ...consumer.projection(parts), topic }) }
}

/** Creates the example's live read models over the test's log, and replays of them. */
export function givenVisitsReplay({ topic, connection }: GivenLog) {
  return givenReplay(visitsConsumer(topic), { connection })
}
