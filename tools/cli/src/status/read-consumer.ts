import type { Consumer } from '@nextvisit/consumer'
import type { Client } from 'pg'
import { isReplayRunning } from '../replay/replay-lock.ts'
import { replacedOf, shadowOf } from '../replay/shadow-schema.ts'

/** Position of a consumer in a partition. */
export interface StoredCheckpoint {
  readonly topic: string
  readonly partition: number
  readonly nextOffset: bigint
  /** Timestamp of the last folded record, ms since the epoch; undefined if there was none yet. */
  readonly recordTimeMs: number | undefined
}

export interface ConsumerState {
  readonly checkpoints: readonly StoredCheckpoint[]
  /** Number of undecided dead letters. */
  readonly deadLetters: number
  /** Number of records waiting for their publish. `seconds`: age of the oldest record; 0 if there is none. */
  readonly outbox: { readonly records: number; readonly seconds: number }
  readonly alarms: readonly Alarm[]
  /** Schemas of an interrupted replay, which no erasure reaches. Empty while a replay runs. */
  readonly leftSchemas: readonly string[]
}

/** A stopped partition, or one whose ticks fail, with the cause. */
export interface Alarm {
  readonly topic: string
  readonly partition: number
  readonly kind: 'halted' | 'stalled' | 'ticks'
  readonly offset: string
  /** Id of a record that could be set aside. */
  readonly recordId: string | null
  readonly code: string
  readonly message: string
  readonly since: string
  /** Operator who asked to set the record aside. */
  readonly setAsideBy: string | null
}

/** Reads the state of a consumer from its schema. Its projection is named after the service. */
export async function readConsumer(
  client: Client,
  { name: service, schema }: Pick<Consumer, 'name' | 'schema'>,
): Promise<ConsumerState> {
  const checkpoints = await readStoredCheckpoints(client, service)
  const deadLetters = await client.query<{ count: string }>(
    `SELECT count(*) FROM dead_letters WHERE projection = $1 AND state IN ('dead', 'retry')`,
    [service],
  )
  const [outbox, alarms] = [await readOutbox(client), await readAlarms(client, service)]
  const leftSchemas = await readLeftSchemas(client, schema)
  return { checkpoints, deadLetters: Number(deadLetters.rows[0]?.count ?? 0), outbox, alarms, leftSchemas }
}

async function readLeftSchemas(client: Client, schema: string): Promise<readonly string[]> {
  if (await isReplayRunning(client, schema)) return []
  const { rows } = await client.query<{ name: string }>(
    'SELECT nspname AS name FROM pg_namespace WHERE nspname = ANY($1) ORDER BY nspname',
    [[shadowOf(schema), replacedOf(schema)]],
  )
  return rows.map(({ name }) => name)
}

async function readOutbox(client: Client): Promise<ConsumerState['outbox']> {
  const { rows } = await client.query<ConsumerState['outbox']>(
    `SELECT count(*)::int AS records, coalesce(round(extract(epoch FROM now() - min(queued_at)))::int, 0) AS seconds
     FROM outbox`,
  )
  return rows[0] ?? { records: 0, seconds: 0 }
}

/** Reads current alarms. An owner repeats them every 10 s, which shows whether ticks still fail: they have no offset. */
async function readAlarms(client: Client, service: string): Promise<readonly Alarm[]> {
  const { rows } = await client.query<Omit<Alarm, 'since'> & { since: Date }>(
    `SELECT topic, partition, kind, "offset"::text, record_id AS "recordId", code, message, since,
            set_aside_by AS "setAsideBy"
     FROM partition_alarms JOIN checkpoints USING (projection, topic, partition)
     WHERE projection = $1
       AND CASE kind WHEN 'ticks' THEN last_at > now() - interval '1 minute' ELSE "offset" >= next_offset END
     ORDER BY kind, topic, partition`,
    [service],
  )
  return rows.map((row) => ({ ...row, since: row.since.toISOString() }))
}

export async function readStoredCheckpoints(client: Client, service: string): Promise<readonly StoredCheckpoint[]> {
  const checkpoints = await client.query<{
    topic: string
    partition: number
    next_offset: string
    record_time: Date | null
  }>('SELECT topic, partition, next_offset, record_time FROM checkpoints WHERE projection = $1', [service])
  return checkpoints.rows.map((row) => ({
    topic: row.topic,
    partition: row.partition,
    nextOffset: BigInt(row.next_offset),
    recordTimeMs: row.record_time?.getTime(),
  }))
}
