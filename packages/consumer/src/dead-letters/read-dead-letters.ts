import type { DecidedPosition, RecordPlace } from '@nextvisit/contracts'
import { type Query, sql, type Statement } from '@nextvisit/database'

export type DeadLetterState = 'dead' | 'retry' | 'retried' | 'discarded'

/** Dead letters of one projection that share what is wrong with them. */
export interface DeadLetterCause {
  readonly cause: string
  /** Names the cause where its text must not stand. */
  readonly causeId: string
  readonly dead: number
  /** The partition's owner folds them next. */
  readonly toRetry: number
  readonly retried: number
  readonly discarded: number
  /** Kafka's time of the oldest and of the newest record. */
  readonly oldest: Date
  readonly newest: Date
  /** The id of the oldest. */
  readonly example: string
  /** The greatest id. */
  readonly lastId: string
}

export interface DeadLetterSummary {
  readonly id: string
  readonly state: DeadLetterState
  readonly cause: string
  readonly causeId: string
  readonly topic: string
  readonly partition: number
  readonly offset: string
  readonly recordTime: Date
  readonly deadAt: Date
  /** Of the consumer, when it last tried the record. */
  readonly serviceVersion: string
  /** Who last asked for a retry or discarded it, and when. */
  readonly decidedBy: string | null
  readonly decidedAt: Date | null
  /** null: the record has no value. */
  readonly valueBytes: number | null
}

/** With what the record holds, which may be personal. */
export interface WholeDeadLetter extends DeadLetterSummary {
  /** Its first {@link MAX_KEY_BYTES}. */
  readonly key: Uint8Array | null
  readonly headers: Readonly<Record<string, string>>
  /** Its first bytes, as many as were asked for. */
  readonly value: Uint8Array | null
}

export const MAX_KEY_BYTES = 1_000

/** The expression that `dead_letters_open` is an index on. */
const CAUSE_HASH = sql`hashtextextended(reason, 0)`

/** A letter and the hash in hex, so that nobody takes it for a number. */
export const CAUSE_ID = sql`'c' || to_hex(${CAUSE_HASH})`

/** Whether the cause of a row has this id. */
export function hasCause(causeId: string): Statement {
  return sql`${CAUSE_HASH} = ${BigInt.asIntN(64, BigInt(`0x${causeId.slice(1)}`))}::bigint`
}

const SUMMARY = sql`
  id::text, state, reason AS cause, ${CAUSE_ID} AS "causeId", topic, partition, "offset"::text,
  record_time AS "recordTime", dead_at AS "deadAt", service_version AS "serviceVersion", decided_by AS "decidedBy",
  decided_at AS "decidedAt", length(value) AS "valueBytes"`

/** The largest first. Without `withSettled`: only causes with something to do. */
export function readDeadLetterCauses(
  query: Query,
  projection: string,
  { withSettled, limit }: { readonly withSettled: boolean; readonly limit: number },
): Promise<readonly DeadLetterCause[]> {
  const states = withSettled ? sql`TRUE` : sql`state IN ('dead', 'retry')`
  return query<DeadLetterCause>(sql`
    SELECT reason AS cause, ${CAUSE_ID} AS "causeId",
           count(*) FILTER (WHERE state = 'dead')::int AS dead,
           count(*) FILTER (WHERE state = 'retry')::int AS "toRetry",
           count(*) FILTER (WHERE state = 'retried')::int AS retried,
           count(*) FILTER (WHERE state = 'discarded')::int AS discarded,
           min(record_time) AS oldest, max(record_time) AS newest,
           (array_agg(id ORDER BY record_time, id))[1]::text AS example, max(id)::text AS "lastId"
    FROM dead_letters
    WHERE projection = ${projection} AND ${states}
    GROUP BY reason ORDER BY count(*) DESC, reason LIMIT ${limit}`)
}

export interface DeadLetterPage {
  readonly causeId: string
  /** The last id of the page before. */
  readonly after: string
  readonly limit: number
}

/** Those of a cause that wait for somebody or for their next try, the first that died first. */
export function readDeadLettersOfCause(
  query: Query,
  projection: string,
  { causeId, after, limit }: DeadLetterPage,
): Promise<readonly DeadLetterSummary[]> {
  return query<DeadLetterSummary>(sql`
    SELECT ${SUMMARY} FROM dead_letters
    WHERE projection = ${projection} AND state IN ('dead', 'retry') AND ${hasCause(causeId)}
      AND id > ${after}::bigint
    ORDER BY dead_letters.id LIMIT ${limit}`)
}

/** The record of a letter: its place in the log, and the projection that could not fold it. */
export type LetterPlace = Readonly<RecordPlace> & { readonly projection: string }

/** Rows of any table that are about this projection and partition. */
export function isAt({ projection, topic, partition }: Omit<LetterPlace, 'offset'>): Statement {
  return sql`projection = ${projection} AND topic = ${topic} AND partition = ${partition}::int`
}

/** The projection's letter of one record, in whatever state; undefined: it has none. */
export async function readDeadLetterAt(query: Query, place: LetterPlace): Promise<DeadLetterSummary | undefined> {
  const [letter] = await query<DeadLetterSummary>(
    sql`SELECT ${SUMMARY} FROM dead_letters WHERE ${isAt(place)} AND "offset" = ${place.offset}::bigint`,
  )
  return letter
}

export interface DecidedPage {
  /** The last letter of the page before. */
  readonly after?: DecidedPosition | undefined
  readonly limit: number
}

/** Those that somebody has decided on, whatever became of them; those that were decided last come first. */
export function readDecidedLetters(
  query: Query,
  projection: string,
  { after, limit }: DecidedPage,
): Promise<readonly DeadLetterSummary[]> {
  const isAfter = after ? sql`(decided_at, id) < (${after.decidedAt}::timestamptz, ${after.id}::bigint)` : sql`TRUE`
  return query<DeadLetterSummary>(sql`
    SELECT ${SUMMARY} FROM dead_letters
    WHERE projection = ${projection} AND decided_at IS NOT NULL AND ${isAfter}
    ORDER BY decided_at DESC, dead_letters.id DESC LIMIT ${limit}`)
}

/** One letter, in whatever state; undefined: there is none. */
export async function readDeadLetter(
  query: Query,
  projection: string,
  id: string,
  { maxValueBytes }: { readonly maxValueBytes: number },
): Promise<WholeDeadLetter | undefined> {
  const [letter] = await query<WholeDeadLetter>(sql`
    SELECT ${SUMMARY}, headers, substring(key FROM 1 FOR ${MAX_KEY_BYTES}::int) AS key,
           substring(value FROM 1 FOR ${maxValueBytes}::int) AS value
    FROM dead_letters WHERE projection = ${projection} AND id = ${id}::bigint`)
  return letter
}
