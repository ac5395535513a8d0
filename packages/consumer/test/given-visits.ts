import path from 'node:path'
import { staticCatalog } from '@nextvisit/catalog/test/static-catalog.ts'
import type { UserFact } from '@nextvisit/contracts'
import type { CommitDb } from '@nextvisit/database'
import { openTestDb } from '@nextvisit/database/testing'
import type { FetchedBatch } from '@nextvisit/log'
import { createLogger } from '@nextvisit/service-kit'
import { createTestDatabase, type TestDatabase } from '@nextvisit/testing'
import { Registry } from 'prom-client'
import { inject, onTestFinished } from 'vitest'
import type { FoldParts } from '../src/fold/fold-parts.ts'
import { finishOutcome, type Outcome } from '../src/fold/partition-batch.ts'
import { coreMigrations } from '../src/index.ts'
import { createCommitLoop } from '../src/partition/commit-loop.ts'
import { createPartition, type Partition, type PartitionOptions } from '../src/partition/partition.ts'
import { createPartitionFold, type PartitionFold } from '../src/partition/partition-fold.ts'
import { createRunnerMetrics } from '../src/partition/runner-metrics.ts'
import {
  createVisitsProjection,
  type VisitsDraft,
  VISITS_DIRECTORY,
  type VisitsProjection,
} from './visits-projection.ts'

interface GivenDatabase {
  readonly name: string
  readonly url: string
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
  return { name: new URL(database.url).pathname.slice(1), url: database.url, db: openDb(), openDb }
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
  const owned = new Map<number, Partition>()
  const stopping = new AbortController()
  const loop = createCommitLoop(givenFoldParts(db, projection), () => [...owned.values()], stopping.signal)
  const running = loop.run()
  onTestFinished(() => {
    stopping.abort()
    return running
  })

  /** Takes the partition away after the first outcome: it would try again. */
  function attempt(fold: PartitionFold, batch: FetchedBatch): Promise<Outcome> {
    const losing = new AbortController()
    const partition = givenPartition(fold, { wake: loop.wake, signal: losing.signal })
    const { promise, resolve } = Promise.withResolvers<Outcome>()
    const conclude: Partition['conclude'] = (outcome) => {
      owned.delete(partition.partition)
      losing.abort()
      partition.conclude(outcome)
      resolve(outcome)
    }
    owned.set(partition.partition, { ...partition, conclude })
    partition.give(batch).catch(() => {}) // the process has lost the partition
    return promise
  }

  const folds = await Promise.all(
    Array.from({ length: partitions }, (_, partition) => givenVisitsFold(db, projection, partition)),
  )
  return folds.map((fold) => ({
    checkpoint: fold.checkpoint,
    fold: async (batch) => finishOutcome(await attempt(fold, batch)),
  }))
}

/** Creates the partition of a fold that is open. */
export function givenPartition(
  fold: PartitionFold,
  options: Pick<PartitionOptions, 'wake' | 'signal'> & Partial<PartitionOptions>,
): Partition {
  return createPartition({
    fold,
    logEnd: 0n,
    metrics: createRunnerMetrics(new Registry(), () => []),
    now: () => new Date(),
    logger: createLogger('spec', 'silent'),
    drainSoon: () => {},
    ...options,
  })
}
