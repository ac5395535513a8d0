import type { DeadLetter, deadLetterCalls, DeadLetterGroup, LogPosition, RecordContent } from '@nextvisit/contracts'
import { type Queryable, sql, type Sql } from '@nextvisit/database'
import type { z } from 'zod'
import { escapeControls, showBytes } from './show-bytes.ts'

type Calls = typeof deadLetterCalls
/** The question of a call about dead letters. */
export type Question<Name extends keyof Calls> = z.output<Calls[Name]['question']>
/** The answer to it. */
export type Answer<Name extends keyof Calls> = z.input<Calls[Name]['answer']>

const MAX_KEY_BYTES = 1_000
/** Bounds of `bounded` content. */
const MAX_VALUE_BYTES = 65_536
const MAX_HEADERS = 50
const MAX_HEADER_CHARACTERS = 1_000
/** Greater than any length in the log. */
const WHOLE = 2 ** 31 - 1
/** Each is a JSON text. Postgres' own functions on JSON reject all of it if any has U+0000. */
const STRINGS_OF_JSON = String.raw`"((?:[^"\\]|\\.)*)"`
/** JSON writes a character with up to six. */
const MAX_HEADER_JSON = 6 * MAX_HEADER_CHARACTERS
const CUT_ESCAPE = /((?:^|[^\\])(?:\\\\)*)\\(?:u[\da-f]{0,3})?$/i

/** An instant as contracts want it; null stays null. */
export function instantOf(expression: Sql): Sql {
  return sql`to_char(${expression} AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')`
}

/** The expression of the index `dead_letters_open`. */
const CAUSE_HASH = sql`hashtextextended(reason, 0)`

/** A letter and the hash in hex, so that it is not taken for a number. */
export const CAUSE_ID = sql`'c' || to_hex(${CAUSE_HASH})`

/** The condition that the cause of a row has this id. */
export function hasCause(causeId: string): Sql {
  return sql`${CAUSE_HASH} = ${BigInt.asIntN(64, BigInt(`0x${causeId.slice(1)}`))}::bigint`
}

/** The condition that a row, of any table, is about this projection and partition. */
export function isAt(projection: string, { topic, partition }: Omit<LogPosition, 'offset'>): Sql {
  return sql`projection = ${projection} AND topic = ${topic} AND partition = ${partition}::int`
}

/** The columns of a {@link DeadLetter}. */
const DEAD_LETTER = sql`
  id::text, state, reason AS cause, ${CAUSE_ID} AS "causeId", topic, partition, "offset"::text,
  ${instantOf(sql`record_time`)} AS "recordTime", ${instantOf(sql`dead_at`)} AS "deadAt",
  service_version AS "serviceVersion", decided_by AS "decidedBy", ${instantOf(sql`decided_at`)} AS "decidedAt",
  length(value) AS "valueBytes"`

/** Groups dead letters by cause, the largest group first. Without `withSettled`: only those that wait or are to be retried. */
export async function readDeadLetterCauses(
  db: Queryable,
  projection: string,
  { withSettled, limit }: Question<'readCauses'>,
): Promise<DeadLetterGroup[]> {
  const states = withSettled ? sql`TRUE` : sql`state IN ('dead', 'retry')`
  const groups = await db.$queryRaw<DeadLetterGroup[]>(sql`
    SELECT reason AS cause, ${CAUSE_ID} AS "causeId",
           count(*) FILTER (WHERE state = 'dead')::int AS dead,
           count(*) FILTER (WHERE state = 'retry')::int AS "toRetry",
           count(*) FILTER (WHERE state = 'retried')::int AS retried,
           count(*) FILTER (WHERE state = 'discarded')::int AS discarded,
           ${instantOf(sql`min(record_time)`)} AS oldest, ${instantOf(sql`max(record_time)`)} AS newest,
           (array_agg(id ORDER BY record_time, id))[1]::text AS example, max(id)::text AS "lastId"
    FROM dead_letters
    WHERE projection = ${projection} AND ${states}
    GROUP BY reason ORDER BY count(*) DESC, reason LIMIT ${limit}`)
  return groups
}

/** Reads those that wait or are to be retried, of one cause or of all, the oldest first. */
export function readOpenDeadLetters(
  db: Queryable,
  projection: string,
  { causeId, after, limit }: Question<'list'>,
): Promise<readonly DeadLetter[]> {
  const isOfCause = causeId === undefined ? sql`TRUE` : hasCause(causeId)
  return db.$queryRaw<DeadLetter[]>(sql`
    SELECT ${DEAD_LETTER} FROM dead_letters
    WHERE projection = ${projection} AND state IN ('dead', 'retry') AND ${isOfCause}
      AND id > ${after}::bigint
    ORDER BY dead_letters.id LIMIT ${limit}`)
}

/** Reads the projection's dead letter of one record, in any state. */
export async function readDeadLetterAt(
  db: Queryable,
  projection: string,
  position: LogPosition,
): Promise<DeadLetter | undefined> {
  const [letter] = await db.$queryRaw<DeadLetter[]>(sql`
    SELECT ${DEAD_LETTER} FROM dead_letters
    WHERE ${isAt(projection, position)} AND "offset" = ${position.offset}::bigint`)
  return letter
}

/** Reads dead letters of records with this key in any state, the oldest first. */
export function readDeadLettersOfKey(
  db: Queryable,
  projection: string,
  { key, after, limit }: Question<'listOfKey'>,
): Promise<readonly DeadLetter[]> {
  return db.$queryRaw<DeadLetter[]>(sql`
    SELECT ${DEAD_LETTER} FROM dead_letters
    WHERE projection = ${projection} AND key = convert_to(${key}, 'UTF8') AND id > ${after}::bigint
    ORDER BY dead_letters.id LIMIT ${limit}`)
}

/** Reads decided dead letters in any state, the latest decision first. */
export function readDecidedDeadLetters(
  db: Queryable,
  projection: string,
  { after, limit }: Question<'listDecided'>,
): Promise<readonly DeadLetter[]> {
  const isAfter = after ? sql`(decided_at, id) < (${after.decidedAt}::timestamptz, ${after.id}::bigint)` : sql`TRUE`
  return db.$queryRaw<DeadLetter[]>(sql`
    SELECT ${DEAD_LETTER} FROM dead_letters
    WHERE projection = ${projection} AND decided_at IS NOT NULL AND ${isAfter}
    ORDER BY decided_at DESC, dead_letters.id DESC LIMIT ${limit}`)
}

interface StoredContent {
  readonly key: Uint8Array | null
  /** Names and values by turns, as JSON texts without quotation marks. Those of `bounded` content may be cut. */
  readonly headers: readonly string[]
  readonly value: Uint8Array | null
}

/** Reads one dead letter in any state. */
export async function readDeadLetter(
  db: Queryable,
  projection: string,
  id: string,
  asked: Question<'read'>['content'],
): Promise<Answer<'read'> | undefined> {
  const maxValueBytes = { none: 0, headers: 0, bounded: MAX_VALUE_BYTES, whole: WHOLE }[asked]
  const maxHeaders = { none: 0, headers: WHOLE, bounded: MAX_HEADERS, whole: WHOLE }[asked]
  const maxHeaderJson = asked === 'bounded' ? MAX_HEADER_JSON : WHOLE
  const [found] = await db.$queryRaw<(DeadLetter & StoredContent)[]>(sql`
    SELECT ${DEAD_LETTER}, substring(key FROM 1 FOR ${MAX_KEY_BYTES}::int) AS key,
           ARRAY(
             SELECT left((regexp_matches(headers::text, ${STRINGS_OF_JSON}, 'g'))[1], ${maxHeaderJson}::int)
             LIMIT 2 * ${maxHeaders}::bigint
           ) AS headers,
           substring(value FROM 1 FOR ${maxValueBytes}::int) AS value
    FROM dead_letters WHERE projection = ${projection} AND id = ${id}::bigint`)
  if (!found) return undefined
  const { key, headers, value, ...letter } = found
  const content = asked === 'none' ? null : contentOf({ key, headers, value }, letter.valueBytes, asked)
  return { ...letter, content }
}

function contentOf(
  { key, headers, value }: StoredContent,
  valueBytes: number | null,
  asked: Question<'read'>['content'],
): RecordContent {
  const maxCharacters = asked === 'bounded' ? MAX_HEADER_CHARACTERS : WHOLE
  const shown = headers.map((json) => escapeControls(fromJson(json).slice(0, maxCharacters)))
  return {
    key: key && showBytes(key, key.byteLength === MAX_KEY_BYTES),
    headers: shown.flatMap((name, at) => (at % 2 === 0 ? { name, value: shown[at + 1] ?? '' } : [])),
    value: value && asked !== 'headers' ? showBytes(value, (valueBytes ?? 0) > value.byteLength) : null,
  }
}

/** Parses a JSON text without quotation marks, up to an escape that was cut. */
function fromJson(json: string): string {
  const whole = json.length < MAX_HEADER_JSON ? json : json.replace(CUT_ESCAPE, '$1')
  return JSON.parse(`"${whole}"`) as string
}
