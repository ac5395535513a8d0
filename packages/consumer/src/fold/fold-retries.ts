import { causeOfFailedRetry } from '@nextvisit/contracts'
import { type Db, sql, type Statement } from '@nextvisit/database'
import type { FetchedRecord } from '@nextvisit/log'
import { FoldFailedError, orFoldFailed } from '../errors.ts'
import type { PartitionCheckpoint } from './checkpoint.ts'
import type { CheckpointKey } from '../tables.ts'
import { commit } from './commit.ts'
import { foldRecords } from './commit-batches.ts'
import type { Core } from './core.ts'
import { decodeFacts } from './decode-facts.ts'
import { type Folded, NOTHING_FOLDED, type Stale } from './outcome.ts'
import { messageOf } from '../watch/partition-alarms.ts'
import type { AnyFact } from '../projection.ts'
import type { NewDeadLetter } from './insert-dead-letters.ts'

const RETRIES_PER_COMMIT = 100

/**
 * Folds dead letters that are to be retried, as many as fit in one commit. They are folded late: only this service changes,
 * and no form is queued.
 */
export async function foldRetries<Fact extends AnyFact, Draft>(
  core: Core<Fact, Draft>,
  checkpoint: PartitionCheckpoint,
): Promise<Folded | Stale> {
  const late: Core<Fact, Draft> = { ...core, context: { ...core.context, mode: 'late' } }
  return foldOrBury(late, checkpoint, await readRetries(core.db, checkpoint.key))
}

/**
 * Folds retries. If several fail together, the first is tried alone; if it fails alone, it is dead again. A failure does not
 * halt the partition, which passed these records long ago.
 */
async function foldOrBury<Fact extends AnyFact, Draft>(
  core: Core<Fact, Draft>,
  checkpoint: PartitionCheckpoint,
  retries: readonly FetchedRecord[],
): Promise<Folded | Stale> {
  const { db, serviceVersion } = core
  const [first, ...others] = retries
  if (!first) return NOTHING_FOLDED
  try {
    return await orFoldFailed(checkpoint.key, checkpoint.current().nextOffset, foldLate(core, checkpoint, retries))
  } catch (error) {
    if (!(error instanceof FoldFailedError)) throw error
    if (others.length > 0) return foldOrBury(core, checkpoint, [first])
    const reason = causeOfFailedRetry(messageOf(error.cause))
    const buried = endRetries(checkpoint.key, serviceVersion, [], [{ record: first, reason }])
    const stale = await commit(db, [{ checkpoint }], [buried])
    return stale.get(checkpoint) ?? { ...NOTHING_FOLDED, deadLetters: 1 }
  }
}

async function foldLate<Fact extends AnyFact, Draft>(
  core: Core<Fact, Draft>,
  checkpoint: PartitionCheckpoint,
  retries: readonly FetchedRecord[],
): Promise<Folded | Stale> {
  const { db, serviceVersion } = core
  const [decoded] = await decodeFacts(core, [{ records: retries }])
  const { recorded = [], deadLetters = [] } = decoded ?? {}
  const { duplicates, statements } = await foldRecords(core, recorded)
  const dead = new Set(deadLetters.map(({ record }) => record))
  const passed = retries.filter((record) => !dead.has(record))
  const settled = endRetries(checkpoint.key, serviceVersion, passed, deadLetters)
  const stale = await commit(db, [{ checkpoint }], [settled, ...statements])
  const records = recorded.length - duplicates.length
  return stale.get(checkpoint) ?? { outcome: 'folded', records, deadLetters: dead.size, duplicates: duplicates.length }
}

interface RetryRow {
  readonly offset: bigint
  readonly key: Uint8Array | null
  readonly value: Uint8Array | null
  readonly headers: Record<string, string>
  readonly record_time: Date
}

/** Returns those of the partitions that have dead letters to retry. */
export async function findRetries(
  db: Db,
  { projection, topic }: Omit<CheckpointKey, 'partition'>,
  partitions: readonly number[],
): Promise<number[]> {
  const rows = await db.$queryRaw<{ partition: number }[]>(sql`
    SELECT DISTINCT partition FROM dead_letters
    WHERE projection = ${projection} AND topic = ${topic} AND partition = ANY(${partitions}::int[]) AND state = 'retry'`)
  return rows.map((row) => row.partition)
}

/** Reads the dead letters of a partition that are to be retried, the oldest first. */
async function readRetries(db: Db, { projection, topic, partition }: CheckpointKey): Promise<FetchedRecord[]> {
  const rows = await db.$queryRaw<RetryRow[]>(sql`
    SELECT "offset", key, value, headers, record_time FROM dead_letters
    WHERE projection = ${projection} AND topic = ${topic} AND partition = ${partition} AND state = 'retry'
    ORDER BY "offset" LIMIT ${RETRIES_PER_COMMIT}`)
  return rows.map((row) => ({
    topic,
    partition,
    offset: row.offset,
    timestampMs: row.record_time.getTime(),
    key: row.key && Buffer.from(row.key),
    value: row.value && Buffer.from(row.value),
    headers: row.headers,
  }))
}

/** Returns the statement that ends a retry: folded records become `retried`, the others `dead` again with their new reason. */
function endRetries(
  { projection, topic, partition }: CheckpointKey,
  serviceVersion: string,
  folded: readonly FetchedRecord[],
  failed: readonly NewDeadLetter[],
): Statement {
  return sql`
    UPDATE dead_letters SET state = given.state, reason = coalesce(given.reason, dead_letters.reason),
      service_version = ${serviceVersion}
    FROM unnest(
      ${[...folded, ...failed.map(({ record }) => record)].map(({ offset }) => offset)}::bigint[],
      ${[...folded.map(() => 'retried'), ...failed.map(() => 'dead')]}::text[],
      ${[...folded.map(() => null), ...failed.map(({ reason }) => reason)]}::text[]
    ) AS given ("offset", state, reason)
    WHERE projection = ${projection} AND topic = ${topic} AND partition = ${partition}
      AND dead_letters."offset" = given."offset" AND dead_letters.state = 'retry'`
}
