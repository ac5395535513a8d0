import path from 'node:path'
import { staticCatalog } from '@nextvisit/catalog/test/static-catalog.ts'
import type { UserFact } from '@nextvisit/contracts'
import type { CommitDb } from '@nextvisit/database'
import { openTestDb } from '@nextvisit/database/testing'
import { createTestDatabase, type TestDatabase } from '@nextvisit/testing'
import { inject, onTestFinished } from 'vitest'
import { type CommitTurn, createCommitLoop } from '../src/fold/commit-loop.ts'
import type { FoldParts } from '../src/fold/fold-parts.ts'
import { NOTHING_FOLDED, type Outcome } from '../src/fold/outcome.ts'
import type { PartitionBatch } from '../src/fold/partition-batch.ts'
import { createPartitionFold, type PartitionFold } from '../src/fold/partition-fold.ts'
import { coreMigrations } from '../src/index.ts'
import {
  createVisitsProjection,
  type VisitsDraft,
  VISITS_DIRECTORY,
  type VisitsProjection,
} from './visits-projection.ts'

interface GivenDatabase {
  readonly name: string
  readonly db: CommitDb
  /** Opens another client of the same database, like another process. */
  readonly openDb: () => CommitDb
}

/** Creates a database with the example's tables, until the test ends. */
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

/** Opens the example's fold of a partition of `user-events` at offset 0. */
export async function givenVisitsFold(
  db: CommitDb,
  projection: VisitsProjection = createVisitsProjection(),
  partition = 0,
): Promise<PartitionFold> {
  const fold = createPartitionFold({ ...givenFoldParts(db, projection), topic: 'user-events', partition })
  await fold.open()
  return fold
}

/** Returns the parts of the example's fold. */
export function givenFoldParts(
  db: CommitDb,
  projection: VisitsProjection = createVisitsProjection(),
): FoldParts<UserFact, VisitsDraft> {
  return { projection, db, catalog: staticCatalog([]), serviceVersion: 'test' }
}

/**
 * Creates partitions of `user-events` whose batches one commit loop commits until the test ends. A fold makes one attempt,
 * and returns its result.
 */
export async function givenLoopedFolds(
  db: CommitDb,
  partitions: number,
  projection: VisitsProjection = createVisitsProjection(),
): Promise<readonly Pick<PartitionFold, 'fold' | 'checkpoint'>[]> {
  const turns: (CommitTurn | undefined)[] = []
  const loop = createCommitLoop(givenFoldParts(db, projection), () => turns.filter((turn) => turn !== undefined))
  const stopping = new AbortController()
  const running = loop.run(stopping.signal)
  onTestFinished(() => {
    stopping.abort()
    return running
  })
  const attempt = (partition: number, batch: PartitionBatch): Promise<Outcome> =>
    new Promise((resolve) => {
      const sinceMs = performance.now()
      const begin = (): void => void (turns[partition] = undefined)
      turns[partition] = {
        takeReady: () => batch,
        readyAtMs: () => sinceMs,
        begin,
        conclude: resolve,
      }
      loop.ring()
    })
  const folds = await Promise.all(
    Array.from({ length: partitions }, (_, partition) => givenVisitsFold(db, projection, partition)),
  )
  return folds.map(({ checkpoint, unfoldedPart }, partition) => ({
    checkpoint,
    fold: async (batch) => {
      const rest = unfoldedPart(batch)
      if (!rest) return NOTHING_FOLDED
      const outcome = await attempt(partition, rest)
      if (outcome.outcome === 'failed') throw outcome.error
      const { after, ...result } = outcome
      await after
      return result
    },
  }))
}
