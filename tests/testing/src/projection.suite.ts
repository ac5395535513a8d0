import type { CatalogView } from '@nextvisit/catalog'
import { staticCatalog } from '@nextvisit/catalog/test/static-catalog.ts'
import {
  type AnyFact,
  type Consumer,
  createPartitionFold,
  erasureTypeOf,
  FoldFailedError,
  type FoldMode,
  GapError,
  type PartitionFold,
  type Projection,
  offlineParts,
  unknownTables,
  type Writes,
} from '@nextvisit/consumer'
import { type CommitDb, type Db, openCommitDb, sql } from '@nextvisit/database'
import { type FetchedBatch, partitionForKey } from '@nextvisit/log'
import { afterEach, beforeAll, beforeEach, describe, expect, inject, it } from 'vitest'
import { ERASED_USER, erasuresOf, readUserTables, storeKeyBefore } from './erased-users.ts'
import { batchesOf, batchOf, factsAsRecords, withPoison } from './facts-as-records.ts'
import { interceptCommits } from './intercept-commits.ts'
import { createTestDatabase, type TestDatabase } from './test-database.ts'
import { storedTestKeys, storeTestKeys } from './test-keys.ts'

interface ProjectionSuiteOptions {
  /** At least a dozen facts of one partition in log order, with each type of record and everything that the fold handles. */
  readonly facts: readonly {
    readonly id: string
    readonly type: string
    readonly organization: string
    readonly project: string
    readonly userId: string
  }[]
  /** Reads all rows of the fold in a comparable form. */
  readonly readRows: (db: Db) => Promise<unknown>
  /** Reads the rows that a rebuild writes. Default: all rows. */
  readonly readRebuiltRows?: (db: Db) => Promise<unknown>
  readonly catalog?: CatalogView
  /** Tables whose rows name a user and stay after an erasure. */
  readonly keptTables?: readonly string[]
  /** Writes the rows that ticks have written before the first record. */
  readonly prepare?: (db: Db) => Promise<void>
}

interface FoldOptions {
  readonly projection?: Projection
  readonly mode?: FoldMode
  readonly partition?: number
}

/** A number of partitions that separates ada's and bob's facts. */
const PARTITIONS = 5

/** Tests a consumer's projection on real Postgres: no failure of a batch may lose or double a record. */
export function describeProjection(
  consumer: Pick<Consumer, 'name' | 'schema' | 'migrations' | 'projection' | 'opensRecords' | 'tables'>,
  options: ProjectionSuiteOptions,
): void {
  const { schema } = consumer
  const { readRows, readRebuiltRows = readRows, catalog = staticCatalog([]), prepare } = options
  const openDb = (url: string) => openCommitDb({ url, schema, applicationName: 'spec' })
  const createProjection = () => consumer.projection(offlineParts(() => Promise.resolve(1)))
  const erasureType = erasureTypeOf(createProjection())
  const facts: ProjectionSuiteOptions['facts'] = [...options.facts, ...(erasureType ? ERASED_USER[erasureType] : [])]
  const records = factsAsRecords(facts)
  let database: TestDatabase
  let db: CommitDb
  /** The rows of an undisturbed fold, record by record. */
  let expected: unknown

  const foldOn = async (
    target: CommitDb,
    { projection = createProjection(), mode = 'live', partition = 0 }: FoldOptions = {},
  ): Promise<PartitionFold> => {
    const place = { topic: 'user-events', partition, catalog, serviceVersion: 'test', mode }
    const fold = createPartitionFold({ projection, db: target, userKeys: storedTestKeys(consumer.name), ...place })
    await fold.open()
    return fold
  }

  describe(`the projection ${consumer.name}`, () => {
    beforeAll(async () => {
      await onClone(async (target) => {
        await foldAll(await foldOn(target), batchesOf(records, 1))
        expected = await readRows(target)
      })
    })
    beforeEach(async () => {
      database = await createTestDatabase(inject('databaseUrl'), consumer)
      db = openDb(database.url)
      await storeTestKeys(db, facts)
      await prepare?.(db)
    })
    afterEach(async () => {
      await db?.$disconnect()
      await database?.drop()
    })

    it('is tested with every type of record that it folds or ignores', () => {
      const types = new Set(facts.map(({ type }) => type))
      const { evolve, opens } = createProjection()
      expect([...types].toSorted()).toEqual(Object.keys(evolve).toSorted())
      expect(consumer.opensRecords ?? false, 'needs the secret key').toBe(opens !== undefined)
    })

    it.each([2, 5, 1_000])('writes the same rows in batches of %i', async (size) => {
      await foldAll(await foldOn(db), batchesOf(records, size))
      expect(await readRows(db)).toEqual(expected)
    })

    it('folds a redelivered batch once', async () => {
      const fold = await foldOn(db)
      for (const batch of batchesOf(records, 3)) await foldAll(fold, [batch, batch])
      await foldAll(fold, batchesOf(records, 4))
      expect(await readRows(db)).toEqual(expected)
    })

    it('folds records in overlapping batches once', async () => {
      const fold = await foldOn(db)
      for (let to = 1; to <= records.length; to++) await foldAll(fold, [batchOf(records, Math.max(0, to - 3), to)])
      expect(await readRows(db)).toEqual(expected)
    })

    it('writes nothing if it crashes before the commit, and continues after a restart', async () => {
      const half = Math.ceil(records.length / 2)
      await foldAll(await foldOn(db), [batchOf(records, 0, half)])
      const before = await readRows(db)
      const failing = await foldOn(db, { projection: failingAtTheEnd(createProjection()) })
      await expect(failing.fold(batchOf(records, half))).rejects.toThrow(FoldFailedError)
      expect(await readRows(db)).toEqual(before)
      await foldAll(await foldOn(db), [batchOf(records, half)])
      expect(await readRows(db)).toEqual(expected)
    })

    it('folds a batch once if it crashes between the commit and its answer', async () => {
      const fold = await foldOn(losingTheFirstAnswer(db))
      await expect(fold.fold(batchOf(records))).rejects.toThrow('Connection terminated')
      expect(await fold.fold(batchOf(records))).toEqual({ outcome: 'stale' })
      await foldAll(fold, [batchOf(records)])
      expect(await readRows(db)).toEqual(expected)
    })

    it('permits only one of two racing owners to commit', async () => {
      const other = openDb(database.url)
      try {
        const owners = [await foldOn(db), await foldOn(other)]
        for (const batch of batchesOf(records, 4)) {
          const outcomes = await Promise.all(owners.map(async (owner) => (await owner.fold(batch)).outcome))
          expect(outcomes.toSorted()).toEqual(['folded', 'stale'])
          await Promise.all(owners.map((owner) => owner.fold(batch)))
        }
        expect(await readRows(db)).toEqual(expected)
      } finally {
        await other.$disconnect()
      }
    })

    it('rejects a zombie owner after a takeover', async () => {
      const other = openDb(database.url)
      try {
        const zombie = await foldOn(other)
        await foldAll(await foldOn(db), [batchOf(records)])
        expect(await zombie.fold(batchOf(records, 0, 3))).toEqual({ outcome: 'stale' })
        expect(await readRows(db)).toEqual(expected)
      } finally {
        await other.$disconnect()
      }
    })

    it('refuses to skip a batch', async () => {
      const fold = await foldOn(db)
      await foldAll(fold, [batchOf(records, 0, 2)])
      const before = await readRows(db)
      await expect(fold.fold(batchOf(records, 3))).rejects.toThrow(GapError)
      expect(await readRows(db)).toEqual(before)
    })

    it('stores an unparsable record as a dead letter and folds the rest', async () => {
      const poisoned = withPoison(records)
      await foldAll(await foldOn(db), batchesOf(poisoned, 4))
      expect(await readRows(db)).toEqual(expected)
      const letters = await db.$queryRaw(
        sql`SELECT "offset", convert_from(value, 'UTF8') AS value, reason FROM dead_letters`,
      )
      expect(letters).toEqual([{ offset: 1n, value: '{"broken', reason: 'value is not JSON' }])
    })

    it.runIf(createProjection().idempotencyOf)('drops the duplicate of an idempotent record', async () => {
      const projection = createProjection()
      const doubled = factsAsRecords(
        facts.flatMap((fact) => (projection.idempotencyOf?.(fact) ? [fact, fact] : [fact])),
      )
      expect(doubled.length, 'some of the facts are idempotent').toBeGreaterThan(records.length)
      await foldAll(await foldOn(db), batchesOf(doubled, 3))
      expect(await readRows(db)).toEqual(expected)
    })

    it.runIf(erasureType)('deletes every row of erased users, of every table with a user_id', async () => {
      await foldAll(await foldOn(db), batchesOf(records, 1_000))
      await storeKeyBefore(db, options.facts[0]?.userId)
      const before = await readUserTables(db)
      expect([...before].filter(([, hasRows]) => !hasRows)).toEqual([])
      const erasures = erasureType ? erasuresOf(facts, erasureType) : []
      await foldAll(await foldOn(db), [batchOf(factsAsRecords([...facts, ...erasures]), records.length)])
      const kept = ['erased_users', ...(options.keptTables ?? [])].toSorted()
      expect([...(await readUserTables(db))].flatMap(([table, hasRows]) => (hasRows ? table : []))).toEqual(kept)
    })

    it('reads and writes nothing for a commit without records', async () => {
      let queries = 0
      const count = (): never => {
        queries += 1
        throw new Error('The projection reads rows for no records')
      }
      const counting: Db = { ...db, $queryRaw: count }
      const projection = createProjection()
      const { statements, outbox = [] } = projection.save(
        await projection.load(counting, [], { catalog, mode: 'live' }),
      )
      expect([queries, statements, outbox]).toEqual([0, [], []])
    })

    it('declares the source of the rows of every table, so that a replay neither loses nor doubles rows', async () => {
      const rows = await db.$queryRaw<{ tablename: string }[]>(
        sql`SELECT tablename FROM pg_tables WHERE schemaname = ${schema}`,
      )
      const names = rows.map(({ tablename }) => tablename)
      expect(unknownTables(names, consumer.tables)).toEqual({ withoutSource: [], missing: [] })
    })

    it('writes the same rows in a rebuild', async () => {
      await foldAll(await foldOn(db), batchesOf(records, 3))
      const live = await readRebuiltRows(db)
      await onClone(async (target) => {
        await foldAll(await foldOn(target, { mode: 'rebuild' }), batchesOf(records, 7))
        expect(await readRebuiltRows(target)).toEqual(live)
        expect(await target.$queryRaw(sql`SELECT FROM outbox`)).toEqual([])
      })
    })

    it('writes the same rows in a rebuild with another order of partitions', async () => {
      const partitions = Array.from({ length: PARTITIONS }, (_, partition) => {
        const own = facts.filter(({ userId }) => partitionForKey(userId, PARTITIONS) === partition)
        return { partition, records: factsAsRecords(own, { partition }) }
      })
      expect(partitions.filter((one) => one.records.length > 0).length).toBeGreaterThan(1)
      for (const { partition, records: own } of partitions) {
        await foldAll(await foldOn(db, { partition }), batchesOf(own, 3))
      }
      const live = await readRebuiltRows(db)
      await onClone(async (target) => {
        for (const { partition, records: own } of partitions.toReversed()) {
          await foldAll(await foldOn(target, { partition, mode: 'rebuild' }), batchesOf(own, 7))
        }
        expect(await readRebuiltRows(target)).toEqual(live)
      })
    })
  })

  async function onClone(work: (target: CommitDb) => Promise<void>): Promise<void> {
    const own = await createTestDatabase(inject('databaseUrl'), consumer)
    const target = openDb(own.url)
    try {
      await storeTestKeys(target, facts)
      await prepare?.(target)
      await work(target)
    } finally {
      await target.$disconnect()
      await own.drop()
    }
  }
}

async function foldAll(fold: PartitionFold, batches: readonly FetchedBatch[]): Promise<void> {
  for (const batch of batches) expect(await fold.fold(batch)).toMatchObject({ outcome: 'folded' })
}

/** Wraps a projection so that its commit fails in its last statement. */
function failingAtTheEnd<Fact extends AnyFact, Draft>(projection: Projection<Fact, Draft>): Projection<Fact, Draft> {
  const save = (draft: Draft): Writes => {
    const { statements, ...others } = projection.save(draft)
    return { ...others, statements: [...statements, sql`SELECT 1 / 0`] }
  }
  return { ...projection, save }
}

/** Wraps a database so that its connection is lost between the first COMMIT and its answer. */
function losingTheFirstAnswer(db: CommitDb): CommitDb {
  let isLost = false
  return interceptCommits(db, async (commit) => {
    await commit()
    if (isLost) return
    isLost = true
    throw new Error('Connection terminated unexpectedly')
  })
}
