import { staticCatalog } from '@nextvisit/catalog/test/static-catalog.ts'
import { createPartitionFold, type FoldMode, offlineParts, type UserKeys } from '@nextvisit/consumer'
import { type FormFact, type FormResults, type FormResultsQuery, TOO_MANY_DAYS } from '@nextvisit/contracts'
import { type CommitDb, type CommitDbOptions, type Db, openCommitDb, raw, sql } from '@nextvisit/database'
import type { FetchedRecord } from '@nextvisit/log'
import {
  batchOf,
  createTestDatabase,
  factsAsRecords,
  storedTestKeys,
  storeTestKeys,
  type TestDatabase,
} from '@nextvisit/testing'
import { afterAll, beforeAll, beforeEach, expect, inject, onTestFinished } from 'vitest'
import { answerCollector } from '../src/consumer.ts'
import { createProjection } from '../src/projection.ts'
import { readFormResults } from '../src/queries.ts'

const FOLDED = [
  'offers',
  'funnels',
  'funnel_days',
  'answer_times',
  'answer_time_days',
  'elements',
  'element_days',
] as const
const TABLES = [...FOLDED, 'erased_elements', 'erased_element_days'] as const

interface FoldOptions {
  /** The number of records in each batch, repeated. Default: all records in one. */
  readonly sizes?: readonly number[]
  /** Default: a stored key of each user. */
  readonly userKeys?: UserKeys
  readonly mode?: FoldMode
  readonly partition?: number
}

/** Creates the collector's tables for the specs of a file, empty at the beginning of each. */
export function givenCollector(connection: Partial<CommitDbOptions> = {}) {
  let database: TestDatabase
  let db: CommitDb
  const openDb = (own: Partial<CommitDbOptions> = {}) =>
    openCommitDb({ url: database.url, schema: answerCollector.schema, applicationName: 'spec', ...own })
  beforeAll(async () => {
    database = await createTestDatabase(inject('databaseUrl'), answerCollector)
    db = openDb(connection)
  })
  beforeEach(() => empty())
  afterAll(async () => {
    await db?.$disconnect()
    await database?.drop()
  })

  async function empty(): Promise<void> {
    const core = ['checkpoints', 'idempotent_records', 'erased_users', 'user_keys', 'dead_letters']
    await db.$executeRaw(raw(`TRUNCATE ${[...TABLES, ...core].join(', ')}`))
  }

  /** Folds all records of a partition, from offset 0. Returns the number of ignored steps. */
  async function foldRecords(records: readonly FetchedRecord[], options: FoldOptions = {}): Promise<number> {
    const {
      sizes = [records.length],
      userKeys = storedTestKeys('answer-collector'),
      mode = 'live',
      partition = 0,
    } = options
    const place = { topic: 'form-events', partition, catalog: staticCatalog([]), serviceVersion: 'test', mode }
    const parts = offlineParts(async () => 1)
    const fold = createPartitionFold({ projection: createProjection(parts), db, userKeys, ...place })
    await fold.open()
    for (let from = Number(fold.checkpoint().nextOffset), nth = 0; from < records.length; nth++) {
      const to = Math.min(records.length, from + (sizes[nth % sizes.length] ?? 1))
      expect(await fold.fold(batchOf(records, from, to))).toMatchObject({ outcome: 'folded' })
      // An erasure may have cut the batch.
      from = Number(fold.checkpoint().nextOffset)
    }
    const ignored = await parts.metrics.getSingleMetric('ignored_form_steps_total')?.get()
    return ignored?.values[0]?.value ?? 0
  }

  /** Opens the one connection of another process, until the test ends. */
  function connectOnce(): CommitDb {
    const other = openDb({ maxConnections: 1 })
    onTestFinished(() => other.$disconnect())
    return other
  }

  return {
    db: () => db,
    connectOnce,
    empty,
    foldRecords,
    /** Folds facts of a partition, with a stored key of each user. */
    fold: async (facts: readonly FormFact[], options: FoldOptions = {}) => {
      await storeTestKeys(db, facts)
      return foldRecords(factsAsRecords(facts, { topic: 'form-events', partition: options.partition ?? 0 }), options)
    },
  }
}

/** Reads the results of a form. Throws if the range is too long. */
export async function readResults(db: Db, query: FormResultsQuery): Promise<FormResults> {
  const results = await readFormResults(db, query)
  if (results === TOO_MANY_DAYS) throw new RangeError(results)
  return results
}

/** Reads every row of the collector's tables. */
export function readCollected(db: Db): Promise<unknown> {
  return readTables(db, TABLES)
}

/** Reads every row that a rebuild writes. */
export function readFolded(db: Db): Promise<unknown> {
  return readTables(db, FOLDED)
}

async function readTables(db: Db, tables: readonly string[]): Promise<unknown> {
  const found: Record<string, unknown> = {}
  for (const table of tables) {
    const rows = await db.$queryRaw<{ row: object }[]>(
      sql`SELECT to_jsonb(own) - 'partition' AS row FROM ${raw(table)} AS own ORDER BY to_jsonb(own)::text`,
    )
    found[table] = rows.map(({ row }) => row)
  }
  return found
}

const COUNTERS = [
  ['funnels', 'funnel_days', ['language', 'step']],
  ['answer_times', 'answer_time_days', ['language', 'span', 'seconds']],
  ['elements', 'element_days', ['language', 'element', 'type', 'value']],
  ['erased_elements', 'erased_element_days', ['language', 'element', 'type', 'value']],
] as const

/** Reads the counters over all days that are not the sum of their days. */
export async function readUnequalSums(db: Db): Promise<readonly unknown[]> {
  const found = COUNTERS.map(async ([table, days, columns]) => {
    const key = ['organization', 'project', 'form_id', 'environment', ...columns, 'partition'].join(', ')
    return db.$queryRaw<unknown[]>(
      raw(`
        SELECT to_jsonb(one) AS whole, to_jsonb(other) AS days
        FROM (SELECT ${key}, count FROM ${table}) AS one
        FULL JOIN (SELECT ${key}, sum(count)::bigint AS count FROM ${days} GROUP BY ${key}) AS other USING (${key}, count)
        WHERE one IS NULL OR other IS NULL`),
    )
  })
  return (await Promise.all(found)).flat()
}
