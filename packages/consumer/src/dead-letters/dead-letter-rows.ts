import { CAUSE_OF_ERASED } from '@nextvisit/contracts'
import { type Db, sql, type Sql } from '@nextvisit/database'
import type { FetchedRecord } from '@nextvisit/log'
import { type CheckpointKey, deadLetters, recordTimeOf } from '../core/tables.ts'

/** Bound the retries of one commit. One always fits. */
const MAX_RETRIES_A_COMMIT = 100
const MAX_RETRY_BYTES_A_COMMIT = 4 * 1024 * 1024

/** A record that cannot be parsed, or that an operator has set aside. */
export interface NewDeadLetter {
  readonly record: FetchedRecord
  /** The cause of the dead letter. */
  readonly reason: string
}

/** Returns statements that store records as dead letters, with the original bytes of key and value. */
export function insertDeadLetters(projection: string, serviceVersion: string, failed: readonly NewDeadLetter[]): Sql[] {
  return deadLetters.insertMissing(
    failed.map(({ record, reason }) => ({
      ...record,
      projection,
      headers: JSON.stringify(record.headers),
      recordTime: recordTimeOf(record),
      reason,
      serviceVersion,
    })),
  )
}

/** Returns the partitions that have dead letters to retry. */
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

/** Reads the dead letters of a partition that are to be retried, the oldest first, as many as go into one commit. */
export async function readRetries(db: Db, { projection, topic, partition }: CheckpointKey): Promise<FetchedRecord[]> {
  const rows = await db.$queryRaw<
    (Pick<FetchedRecord, 'offset' | 'headers'> & {
      key: Uint8Array | null
      value: Uint8Array | null
      record_time: Date
    })[]
  >(sql`
    SELECT "offset", key, value, headers, record_time FROM (
      SELECT *, sum(bytes) OVER (ORDER BY "offset") - bytes AS "bytesBefore" FROM (
        SELECT *, coalesce(octet_length(key), 0) + coalesce(octet_length(value), 0) + octet_length(headers::text) AS bytes
        FROM dead_letters
        WHERE projection = ${projection} AND topic = ${topic} AND partition = ${partition} AND state = 'retry'
        ORDER BY "offset" LIMIT ${MAX_RETRIES_A_COMMIT}
      ) AS oldest
    ) AS counted
    WHERE "bytesBefore" + bytes <= ${MAX_RETRY_BYTES_A_COMMIT} OR "bytesBefore" = 0
    ORDER BY "offset"`)
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

/**
 * Returns the statement that ends a retry: folded records become `retried`, the dead ones `dead` again with their new reason, and
 * the refused ones `discarded`, because their user was erased.
 */
export function endRetries(
  { projection, topic, partition }: CheckpointKey,
  serviceVersion: string,
  {
    folded = [],
    dead = [],
    refused = [],
  }: {
    readonly folded?: readonly FetchedRecord[]
    readonly dead?: readonly NewDeadLetter[]
    readonly refused?: readonly FetchedRecord[]
  },
): Sql {
  const ended = [
    ...folded.map(({ offset }) => ({ offset, state: 'retried', reason: null })),
    ...dead.map(({ record: { offset }, reason }) => ({ offset, state: 'dead', reason })),
    ...refused.map(({ offset }) => ({ offset, state: 'discarded', reason: CAUSE_OF_ERASED })),
  ]
  return sql`
    UPDATE dead_letters SET state = given.state, reason = coalesce(given.reason, dead_letters.reason),
      service_version = ${serviceVersion}
    FROM unnest(
      ${ended.map(({ offset }) => offset)}::bigint[], ${ended.map(({ state }) => state)}::text[],
      ${ended.map(({ reason }) => reason)}::text[]
    ) AS given ("offset", state, reason)
    WHERE projection = ${projection} AND topic = ${topic} AND partition = ${partition}
      AND dead_letters."offset" = given."offset" AND dead_letters.state = 'retry'`
}
