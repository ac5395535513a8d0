import { type Db, sql, type Statement } from '@nextvisit/database'
import type { FetchedRecord } from '@nextvisit/log'
import type { CheckpointKey } from './checkpoints.ts'
import { recordTimeOf } from './record-time.ts'

/** A record that could not be parsed. */
export interface DeadLetter {
  readonly record: FetchedRecord
  readonly reason: string
}

/** Keeps records whole: original bytes, key, headers, place, reason, version of the service. */
export function insertDeadLetters(
  projection: string,
  serviceVersion: string,
  letters: readonly DeadLetter[],
): Statement {
  return sql`
    INSERT INTO dead_letters
      (projection, topic, partition, "offset", key, value, headers, record_time, reason, service_version)
    SELECT ${projection}, topic, partition, "offset", decode(key, 'base64'), decode(value, 'base64'), headers::json,
      record_time, reason, ${serviceVersion}
    FROM unnest(
      ${letters.map(({ record }) => record.topic)}::text[],
      ${letters.map(({ record }) => record.partition)}::int[],
      ${letters.map(({ record }) => record.offset)}::bigint[],
      ${letters.map(({ record }) => record.key?.toString('base64') ?? null)}::text[],
      ${letters.map(({ record }) => record.value?.toString('base64') ?? null)}::text[],
      ${letters.map(({ record }) => JSON.stringify(record.headers))}::text[],
      ${letters.map(({ record }) => recordTimeOf(record))}::timestamptz[],
      ${letters.map(({ reason }) => reason)}::text[]
    ) AS given (topic, partition, "offset", key, value, headers, record_time, reason)
    ON CONFLICT (projection, topic, partition, "offset") DO NOTHING`
}

const RETRIES_PER_COMMIT = 100

interface RetryRow {
  readonly offset: bigint
  readonly key: Uint8Array | null
  readonly value: Uint8Array | null
  readonly headers: Record<string, string>
  readonly record_time: Date
}

/** Partitions, of those given, with dead letters that an operator wants tried again. */
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

/** Dead letters of a partition that an operator wants tried again, oldest first. */
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

/** After a retry: folded ones are `retried`, the others `dead` again with what is wrong with them now. */
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
