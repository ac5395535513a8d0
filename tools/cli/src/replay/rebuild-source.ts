import type { CatalogView } from '@nextvisit/catalog'
import type { Projection, SettledUntil, UserKeys } from '@nextvisit/consumer'
import type { LostOffsets } from '@nextvisit/contracts'
import type { Client, CommitDb } from '@nextvisit/database'
import { type LogConnection, readWatermarks } from '@nextvisit/log'
import type { Schemas } from './compare-tables.ts'
import { ReplayError } from './replay-error.ts'

export interface RebuildContext {
  /** Connection that reads the live schema. */
  readonly client: Client
  /** Connection to the rebuilt schema. */
  readonly db: CommitDb
  readonly schemas: Schemas
  readonly connection: LogConnection
  readonly catalog: CatalogView
  readonly serviceVersion: string
  /** Absent: the consumer opens no records. */
  readonly userKeys?: UserKeys | undefined
  readonly onProgress: (offsets: number) => void
  /** Called again for the same offsets whenever the source is folded up. */
  readonly onLost: (lost: LostOffsets) => void
  /** See {@link SettledUntil}. */
  readonly settledUntil?: SettledUntil | undefined
}

/** Records that a replay folds, up to the checkpoints of the live rows. */
export interface RebuildSource {
  /** Returns the number of offsets that are not folded yet. */
  readonly remaining: () => Promise<number>
  /** Folds up to the current checkpoints of the live rows. Can be called again, even after a failure. */
  readonly foldUp: () => Promise<void>
}

/** Reads the checkpoint of each partition in a schema. */
export async function readOffsets(
  client: Client,
  schema: string,
  projection: string,
  topic: string,
): Promise<ReadonlyMap<number, bigint>> {
  const { rows } = await client.query<{ partition: number; next_offset: string }>(
    `SELECT partition, next_offset FROM ${schema}.checkpoints WHERE projection = $1 AND topic = $2`,
    [projection, topic],
  )
  return new Map(rows.map((row) => [row.partition, BigInt(row.next_offset)]))
}

/** Returns the number of offsets before these ends that are not rebuilt yet. */
export async function countRemaining(
  { client, schemas }: RebuildContext,
  { name, topic }: Projection,
  until: ReadonlyMap<number, bigint>,
): Promise<number> {
  const folded = await readOffsets(client, schemas.rebuilt, name, topic)
  return [...until].reduce((sum, [partition, end]) => sum + Math.max(0, Number(end - (folded.get(partition) ?? 0n))), 0)
}

/** Throws unless the log still has the first record of each partition of a topic. */
export async function requireBeginning(connection: LogConnection, topic: string): Promise<void> {
  const late = [...(await readWatermarks(connection, topic))].filter(([, { low }]) => low > 0n)
  if (late.length === 0) return
  const places = late.map(([partition, { low }]) => `${topic}/${partition} at ${low}`).join(', ')
  throw new ReplayError(
    'LOG_BEGINS_LATE',
    `The log no longer has its first records: it begins with ${places}. Their rows cannot be rebuilt.`,
  )
}
