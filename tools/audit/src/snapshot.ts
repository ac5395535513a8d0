import { Client, TypeOverrides, types } from 'pg'

/** Location of a consumer's rows. */
export interface ReadModel {
  /** Name of the consumer and of its projection. */
  readonly service:
    | 'user-projector'
    | 'trait-registry'
    | 'metering'
    | 'form-trigger-evaluator'
    | 'answer-collector'
    | 'webhook-dispatcher'
    | 'user-eraser'
  readonly schema: string
  readonly url: string
}

/** A dead letter of a consumer. */
export interface DeadLetter {
  readonly partition: number
  readonly offset: bigint
  readonly state: string
  /** SHA-256 of the value in hex; null without a value. */
  readonly valueSha256: string | null
  /** Offsets of the undecodable batch that it describes. */
  readonly omitted?: { readonly first: bigint; readonly last: bigint } | undefined
}

/** A schema in one snapshot, whose rows and checkpoints match, however long the audit takes. */
export interface Snapshot extends Pick<ReadModel, 'service'> {
  /** Next offsets to fold, by partition of the topic that the consumer reads. */
  readonly checkpoints: ReadonlyMap<number, bigint>
  readonly deadLetters: ReadonlyMap<string, DeadLetter>
  /** Streams rows in batches. Integers are numbers, instants are ISO text. */
  readonly rows: <Row extends object>(sql: string, values?: readonly unknown[]) => AsyncGenerator<Row>
  readonly close: () => Promise<void>
}

const CONNECT_WITHIN_MS = 5_000
const ROWS_A_FETCH = 2_000

/** Parsers of rows: integers as numbers, instants as ISO text. */
const ROW_TYPES = new TypeOverrides()
ROW_TYPES.setTypeParser(types.builtins.INT8, Number)
const parseInstant = types.getTypeParser(types.builtins.TIMESTAMPTZ) as (text: string) => Date
ROW_TYPES.setTypeParser(types.builtins.TIMESTAMPTZ, (text: string) => parseInstant(text).toISOString())

/** Begins a read-only transaction with one snapshot. Only `close` ends it. */
export async function openSnapshot({ service, schema, url }: ReadModel, topic: string): Promise<Snapshot> {
  const client = new Client({
    connectionString: url,
    connectionTimeoutMillis: CONNECT_WITHIN_MS,
    keepAlive: true,
    application_name: 'nextvisit audit',
  })
  client.on('error', () => {})
  try {
    await client.connect()
    await client.query(`
      SET default_transaction_read_only = on;
      SET statement_timeout = 0;
      SET idle_in_transaction_session_timeout = 0;
      SET search_path TO ${client.escapeIdentifier(schema)};
      BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY`)
    const checkpoints = await readCheckpoints(client, service, topic)
    const deadLetters = await readDeadLetters(client, service, topic)
    return { service, checkpoints, deadLetters, rows: rowsOf(client), close: () => client.end() }
  } catch (error) {
    await client.end().catch(() => {})
    throw error
  }
}

async function readCheckpoints(client: Client, service: string, topic: string): Promise<Map<number, bigint>> {
  const { rows } = await client.query<{ partition: number; next_offset: string }>(
    'SELECT partition, next_offset FROM checkpoints WHERE projection = $1 AND topic = $2',
    [service, topic],
  )
  return new Map(rows.map((row) => [row.partition, BigInt(row.next_offset)]))
}

async function readDeadLetters(client: Client, service: string, topic: string): Promise<Map<string, DeadLetter>> {
  // Postgres reads no member of `headers` if one of them has U+0000.
  const { rows } = await client.query<{
    partition: number
    offset: string
    state: string
    sha256: string | null
    headers: string | null
  }>(
    `SELECT partition, "offset", state, encode(sha256(value), 'hex') AS sha256,
            CASE WHEN headers::text LIKE '%"omitted-offsets"%' THEN headers::text END AS headers
     FROM dead_letters WHERE projection = $1 AND topic = $2`,
    [service, topic],
  )
  return new Map(
    rows.map(({ partition, offset, state, sha256, headers }) => {
      const letter = { partition, offset: BigInt(offset), state, valueSha256: sha256, omitted: omittedIn(headers) }
      return [recordRefOf(letter), letter]
    }),
  )
}

/** Returns the offsets in the headers of an undecodable batch, such as `5-9`; undefined for any other record. */
function omittedIn(headers: string | null): DeadLetter['omitted'] {
  const { 'omitted-offsets': offsets } = JSON.parse(headers ?? '{}') as Record<string, string>
  const [, first, last] = /^(\d+)-(\d+)$/.exec(offsets ?? '') ?? []
  return first && last ? { first: BigInt(first), last: BigInt(last) } : undefined
}

/** Returns the log position of a record as text. */
export function recordRefOf({ partition, offset }: { readonly partition: number; readonly offset: bigint }): string {
  return `${partition}/${offset}`
}

function rowsOf(client: Client): Snapshot['rows'] {
  return async function* rows<Row extends object>(sql: string, values: readonly unknown[] = []) {
    await client.query({ text: `DECLARE audited NO SCROLL CURSOR FOR ${sql}`, values: [...values] })
    try {
      for (;;) {
        const fetched = await client.query<Row>({ text: `FETCH ${ROWS_A_FETCH} FROM audited`, types: ROW_TYPES })
        yield* fetched.rows
        if (fetched.rows.length < ROWS_A_FETCH) return
      }
    } finally {
      // Fails only if the transaction failed before, whose error was already thrown.
      await client.query('CLOSE audited').catch(() => {})
    }
  }
}
