import { type Db, sql, type Statement } from '@nextvisit/database'
import type { FetchedRecord } from '@nextvisit/log'
import { type CheckpointKey, recordTimeOf } from '../fold/checkpoint.ts'
import { deadLetters } from '../tables.ts'

/** A record that could not be parsed, or that an operator has set aside. */
export interface DeadLetter {
  readonly record: FetchedRecord
  readonly reason: string
}

/** Keeps records whole: original bytes, key, headers, place, reason, version of the service. */
export function insertDeadLetters(
  projection: string,
  serviceVersion: string,
  letters: readonly DeadLetter[],
): Statement[] {
  return deadLetters.insertMissing(
    letters.map(({ record, reason }) => ({
      ...record,
      projection,
      headers: JSON.stringify(record.headers),
      recordTime: recordTimeOf(record),
      reason,
      serviceVersion,
    })),
  )
}

const RETRIES_PER_COMMIT = 100

interface RetryRow {
  readonly offset: bigint
  readonly key: Uint8Array | null
  readonly value: Uint8Array | null
  readonly headers: Record<string, string>
  readonly record_time: Date
}

/** The partitions, of those given, that have dead letters which an operator wants retried. */
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

/** Dead letters of a partition that an operator wants retried, oldest first. */
export async function readRetries(db: Db, { projection, topic, partition }: CheckpointKey): Promise<FetchedRecord[]> {
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

/** After a retry: folded letters are `retried`. The others are `dead` again, with the reason of this retry. */
export function settleRetries(
  { projection, topic, partition }: CheckpointKey,
  serviceVersion: string,
  folded: readonly FetchedRecord[],
  letters: readonly DeadLetter[],
): Statement {
  return sql`
    UPDATE dead_letters SET state = given.state, reason = coalesce(given.reason, dead_letters.reason),
      service_version = ${serviceVersion}
    FROM unnest(
      ${[...folded, ...letters.map(({ record }) => record)].map(({ offset }) => offset)}::bigint[],
      ${[...folded.map(() => 'retried'), ...letters.map(() => 'dead')]}::text[],
      ${[...folded.map(() => null), ...letters.map(({ reason }) => reason)]}::text[]
    ) AS given ("offset", state, reason)
    WHERE projection = ${projection} AND topic = ${topic} AND partition = ${partition}
      AND dead_letters."offset" = given."offset" AND dead_letters.state = 'retry'`
}
