import type { Client } from 'pg'

/** How far a consumer has folded a partition. */
export interface Checkpoint {
  readonly topic: string
  readonly partition: number
  readonly nextOffset: bigint
  /** Of the last record that was folded, ms since the epoch; undefined where none was yet. */
  readonly recordTimeMs: number | undefined
}

export interface ConsumerAnswer {
  readonly checkpoints: readonly Checkpoint[]
  /** Those that nobody has dealt with. */
  readonly deadLetters: number
}

interface CheckpointRow {
  readonly topic: string
  readonly partition: number
  readonly next_offset: string
  readonly record_time: Date | null
}

/** What a consumer has in its schema. Its projection is named after the service. */
export async function readConsumer(client: Client, service: string): Promise<ConsumerAnswer> {
  const checkpoints = await readCheckpoints(client, service)
  const deadLetters = await client.query<{ count: string }>(
    `SELECT count(*) FROM dead_letters WHERE projection = $1 AND state IN ('dead', 'retry')`,
    [service],
  )
  return { checkpoints, deadLetters: Number(deadLetters.rows[0]?.count ?? 0) }
}

export async function readCheckpoints(client: Client, service: string): Promise<readonly Checkpoint[]> {
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
