import type { Client } from 'pg'

/** Position of a consumer in a partition. */
export interface StoredCheckpoint {
  readonly topic: string
  readonly partition: number
  readonly nextOffset: bigint
  /** Timestamp of the last folded record, ms since the epoch; undefined if there was none yet. */
  readonly recordTimeMs: number | undefined
}

interface ConsumerAnswer {
  readonly checkpoints: readonly StoredCheckpoint[]
  /** Number of undecided dead letters. */
  readonly deadLetters: number
  readonly outbox: Outbox
  readonly alarms: readonly Alarm[]
}

/** Records waiting for their publish. */
export interface Outbox {
  readonly records: number
  /** Age of the oldest record in seconds; 0 if there is none. */
  readonly seconds: number
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

interface CheckpointRow {
  readonly topic: string
  readonly partition: number
  readonly next_offset: string
  readonly record_time: Date | null
}

/** Reads the state of a consumer from its schema. Its projection is named after the service. */
export async function readConsumer(client: Client, service: string): Promise<ConsumerAnswer> {
  const checkpoints = await readStoredCheckpoints(client, service)
  const deadLetters = await client.query<{ count: string }>(
    `SELECT count(*) FROM dead_letters WHERE projection = $1 AND state IN ('dead', 'retry')`,
    [service],
  )
  const [outbox, alarms] = [await readOutbox(client), await readAlarms(client, service)]
  return { checkpoints, deadLetters: Number(deadLetters.rows[0]?.count ?? 0), outbox, alarms }
}

async function readOutbox(client: Client): Promise<Outbox> {
  const { rows } = await client.query<Outbox>(
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
  const checkpoints = await client.query<CheckpointRow>(
    'SELECT topic, partition, next_offset, record_time FROM checkpoints WHERE projection = $1',
    [service],
  )
  return checkpoints.rows.map((row) => ({
    topic: row.topic,
    partition: row.partition,
    nextOffset: BigInt(row.next_offset),
    recordTimeMs: row.record_time?.getTime(),
  }))
}
