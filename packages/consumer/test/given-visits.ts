import path from 'node:path'
import { staticCatalog } from '@nextvisit/catalog/test/static-catalog.ts'
import type { CommitDb } from '@nextvisit/database'
import { openTestDb } from '@nextvisit/database/testing'
import { createTestDatabase, type TestDatabase } from '@nextvisit/testing'
import { inject, onTestFinished } from 'vitest'
import { createCommonFold } from '../src/fold/common-fold.ts'
import { createPartitionFold, type PartitionFold } from '../src/fold/partition-fold.ts'
import { coreMigrations } from '../src/index.ts'
import { createVisitsProjection, VISITS_DIRECTORY } from './visits-projection.ts'

export interface GivenDatabase {
  readonly name: string
  readonly db: CommitDb
  /** Another client of the same database: another process. */
  readonly openDb: () => CommitDb
}

/** A database with the example's tables, gone after the test. */
export async function givenVisitsDatabase(): Promise<GivenDatabase> {
  const database: TestDatabase = await createTestDatabase(inject('databaseUrl'), {
    schema: 'visits',
    migrations: [
      { directory: coreMigrations, table: '_core_migrations' },
      { directory: path.join(VISITS_DIRECTORY, 'prisma/migrations'), table: '_prisma_migrations' },
    ],
  })
  const opened: CommitDb[] = []
  const openDb = (): CommitDb => {
    const db = openTestDb(database.url, 'visits')
    opened.push(db)
    return db
  }
  onTestFinished(async () => {
    await Promise.all(opened.map((db) => db.$disconnect()))
    await database.drop()
  })
  return { name: new URL(database.url).pathname.slice(1), db: openDb(), openDb }
}

const catalog = staticCatalog([])
const serviceVersion = 'test'

/** The example's fold of `user-events`/0, opened at offset 0. */
export async function givenVisitsFold(
  db: CommitDb,
  projection: ReturnType<typeof createVisitsProjection> = createVisitsProjection(),
): Promise<PartitionFold> {
  const fold = createPartitionFold({ projection, db, topic: 'user-events', partition: 0, catalog, serviceVersion })
  await fold.open()
  return fold
}

/** The example's folds of as many partitions of `user-events`, which are committed together. */
export async function givenCommonFolds(
  db: CommitDb,
  partitions: number,
  projection: ReturnType<typeof createVisitsProjection> = createVisitsProjection(),
): Promise<readonly PartitionFold[]> {
  const scope = { projection, db, catalog, serviceVersion }
  const common = createCommonFold({ ...scope, context: { catalog, isRebuild: false } })
  const folds = Array.from({ length: partitions }, (_, partition) =>
    createPartitionFold({ ...scope, topic: 'user-events', partition, common }),
  )
  await Promise.all(folds.map((fold) => fold.open()))
  return folds
}
