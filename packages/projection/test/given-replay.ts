import { fileURLToPath } from 'node:url'
import { staticCatalog } from '@nextvisit/catalog'
import { type Db, prepareServiceSchema, withClient } from '@nextvisit/database'
import { openTestDb } from '@nextvisit/database/testing'
import { createTestDatabase } from '@nextvisit/testing'
import { inject, onTestFinished } from 'vitest'
import { coreMigrations } from '../src/index.ts'
import { type ReplayEnvironment, type ReplayRequest, replayService, type TableRoles } from '../src/replay/index.ts'
import type { GivenLog } from './given-log.ts'
import { createVisitsProjection } from './visits-projection.ts'

const ROLE = 'nextvisit_test_visits'
const migrations = [
  { directory: coreMigrations, table: '_core_migrations' },
  { directory: fileURLToPath(new URL('migrations', import.meta.url)), table: '_prisma_migrations' },
]
/** What ticks of the example write is no fold. */
const roles: TableRoles = {
  visits: {
    folded: (table) => `SELECT * FROM ${table} WHERE user_id <> '00000000-0000-4000-8000-000000000000'`,
  },
}

/** The example's live read models, served as a service's own role, and replays of them. */
export async function givenReplay({ topic, connection }: GivenLog) {
  const database = await createTestDatabase(inject('databaseUrl'), { schema: 'postgres_made_this_one' })
  const adminUrl = database.url
  await prepareServiceSchema({ adminUrl, schema: 'visits', role: ROLE, password: 'test', migrations })
  const url = Object.assign(new URL(adminUrl), { username: ROLE, password: 'test' }).href
  const db = openTestDb(url, 'visits')
  onTestFinished(async () => {
    await db.$disconnect()
    await database.drop()
  })

  const replay = (
    request: Partial<ReplayRequest> = {},
    own: Partial<ReplayEnvironment> & { openDb?: (db: Db) => Db } = {},
  ) => {
    const { openDb = (opened: Db) => opened, ...environment } = own
    return replayService(
      {
        database: { service: 'metering', schema: 'visits', role: ROLE },
        serviceVersion: 'test',
        projection: createVisitsProjection(topic),
        roles,
        openDb: (options) => openDb(openTestDb(options.url, options.schema)),
      },
      { isDryRun: false, acceptsDifferences: false, restart: false, ...request },
      {
        adminUrl,
        connection,
        catalog: staticCatalog([]),
        migrations,
        onBegin: () => {},
        onProgress: () => {},
        onStep: () => {},
        onPause: () => {},
        ...environment,
      },
    )
  }

  return { db, url, adminUrl, replay, asAdmin: (text: string) => withClient(adminUrl, (client) => client.query(text)) }
}
