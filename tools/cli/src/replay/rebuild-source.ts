import type { CatalogView } from '@nextvisit/catalog'
import {
  createPartitionFold,
  decodeFacts,
  evolveDraft,
  type FoldContext,
  type Projection,
  rebuildInto,
  type SettledUntil,
} from '@nextvisit/consumer'
import { type Client, type CommitDb, sql } from '@nextvisit/database'
import { type FetchedRecord, type LogConnection, readWatermarks } from '@nextvisit/log'
import type { Schemas } from './compare-tables.ts'
import { ReplayError } from './replay-error.ts'

/** Bound of ticks, far more than the users of one partition need. */
const MAX_TICKS = 10_000

export interface RebuildContext {
  /** Connection that reads the live schema. */
  readonly client: Client
  /** Connection to the rebuilt schema. */
  readonly db: CommitDb
  readonly schemas: Schemas
  readonly connection: LogConnection
  readonly catalog: CatalogView
  readonly serviceVersion: string
  readonly onProgress: (offsets: number) => void
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

/** Creates the source of a topic that the consumer folds live. It stops at the live checkpoints and omits the live dead letters. */
export function liveTopic(context: RebuildContext, projection: Projection): RebuildSource {
  const { topic } = projection
  const { client, db, schemas, connection, catalog, serviceVersion, onProgress } = context
  const { live, rebuilt } = schemas

  const readUntil = async (): Promise<ReadonlyMap<number, bigint>> => readOffsets(client, live, projection.name, topic)

  /** Reads the live dead letters that are not folded: waiting and discarded ones. */
  const readUnfolded = async (): Promise<ReadonlySet<string>> => {
    const { rows } = await client.query<{ place: string }>(
      `SELECT partition || '/' || "offset" AS place FROM ${live}.dead_letters
       WHERE projection = $1 AND topic = $2 AND state <> 'retried'`,
      [projection.name, topic],
    )
    return new Set(rows.map(({ place }) => place))
  }

  /** Folds the dead letters that were retried live after the rebuild had omitted them. */
  const foldRetried = async (): Promise<void> => {
    const own = await db.$queryRaw<{ partition: number; offset: bigint }[]>(sql`
      SELECT partition, "offset" FROM dead_letters
      WHERE projection = ${projection.name} AND topic = ${topic} AND state IN ('dead', 'retry')`)
    if (own.length === 0) return
    // Uses the connection that holds the locks of the live tables.
    const { rows } = await client.query<{ partition: number; offset: string }>(
      `SELECT partition, "offset" FROM ${live}.dead_letters
       JOIN unnest($3::int[], $4::bigint[]) AS own (partition, "offset") USING (partition, "offset")
       WHERE projection = $1 AND topic = $2 AND state = 'retried'`,
      [projection.name, topic, own.map(({ partition }) => partition), own.map(({ offset }) => String(offset))],
    )
    const offsets = rows.map(({ offset }) => offset)
    const partitions = await db.$queryRaw<{ partition: number }[]>(sql`
      UPDATE dead_letters AS own SET state = 'retry'
      FROM unnest(${rows.map(({ partition }) => partition)}::int[], ${offsets}::bigint[]) AS theirs (partition, "offset")
      WHERE own.projection = ${projection.name} AND own.topic = ${topic} AND own.state IN ('dead', 'retry')
        AND (theirs.partition, theirs."offset") = (own.partition, own."offset")
      RETURNING own.partition`)
    for (const partition of new Set(partitions.map((row) => row.partition))) {
      const fold = createPartitionFold({ projection, db, topic, partition, catalog, serviceVersion, mode: 'rebuild' })
      await fold.open()
      for (;;) {
        const result = await fold.retry()
        if (result.outcome === 'folded' && result.records + result.duplicates + result.deadLetters === 0) break
      }
    }
  }

  /** Ticks until the rebuilt rows are settled as far as the live ones. */
  const settle = async (): Promise<void> => {
    if (!context.settledUntil) return
    const { rows } = await client.query<{ partition: number; instant: Date }>(context.settledUntil(live))
    for (const { partition, instant } of rows) {
      const fold = createPartitionFold({ projection, db, topic, partition, catalog, serviceVersion })
      await fold.open()
      for (let ticks = 0; ; ticks++) {
        const due = (await projection.ticks?.due(db, instant, { partitions: [partition], catalog })) ?? []
        if (due.length === 0) break
        if (ticks === MAX_TICKS) throw notSettled(partition)
        await fold.tick(instant)
      }
    }
  }

  return {
    remaining: async () => remainingIn(await readUntil(), await readOffsets(client, rebuilt, projection.name, topic)),
    foldUp: async () => {
      await requireBeginning(connection, topic)
      const until = await readUntil()
      // Reads them after the checkpoints: a dead letter is committed with the checkpoint that passes it.
      const unfolded = await readUnfolded()
      const deadBecause = (record: FetchedRecord): string | undefined =>
        unfolded.has(`${record.partition}/${record.offset}`) ? 'a dead letter of the live read models' : undefined
      await rebuildInto({ projection, db, connection, topic, until, catalog, serviceVersion, deadBecause, onProgress })
      await foldRetried()
      await settle()
    },
  }
}

/**
 * Creates the source of a topic that the consumer itself publishes: the whole topic, then the records in the live outbox.
 * The outbox publishes at least once, so folding a fact twice, even after later facts, must change nothing.
 */
export function publishedTopic(context: RebuildContext, projection: Projection): RebuildSource {
  const { topic } = projection
  const { client, db, schemas, connection, catalog, serviceVersion, onProgress } = context

  const readEnds = async (): Promise<ReadonlyMap<number, bigint>> =>
    new Map(Array.from(await readWatermarks(connection, topic), ([partition, { high }]) => [partition, high]))

  const readOutbox = async (): Promise<FetchedRecord[]> => {
    const { rows } = await client.query<{ key: string; value: string; headers: Record<string, string> }>(
      `SELECT key, value, headers FROM ${schemas.live}.outbox WHERE topic = $1 ORDER BY sequence`,
      [topic],
    )
    return rows.map(({ key, value, headers }) => {
      const place = { topic, partition: 0, offset: 0n, timestampMs: 0 }
      return { ...place, key: Buffer.from(key), value: Buffer.from(value), headers }
    })
  }

  const foldWaiting = async (waiting: readonly FetchedRecord[]): Promise<void> => {
    const { recorded } = decodeFacts(projection.schema, { records: waiting })
    const foldContext: FoldContext = { catalog, mode: 'rebuild' }
    const draft = evolveDraft(projection, await projection.load(db, recorded, foldContext), recorded, foldContext)
    const { statements } = projection.save(draft)
    if (statements.length > 0) await db.executeAll(statements)
  }

  return {
    remaining: async () =>
      remainingIn(await readEnds(), await readOffsets(client, schemas.rebuilt, projection.name, topic)),
    foldUp: async () => {
      await requireBeginning(connection, topic)
      // Reads the outbox before the ends: a record that leaves it later is in the log by then.
      const waiting = await readOutbox()
      const until = await readEnds()
      await rebuildInto({ projection, db, connection, topic, until, catalog, serviceVersion, onProgress })
      await foldWaiting(waiting)
    },
  }
}

function notSettled(partition: number): ReplayError {
  return new ReplayError(
    'NOT_SETTLED',
    `Partition ${partition} is not settled after ${MAX_TICKS} ticks. This is a bug. Nothing was swapped.`,
  )
}

/** Reads the checkpoint of each partition in a schema. */
async function readOffsets(
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

function remainingIn(until: ReadonlyMap<number, bigint>, folded: ReadonlyMap<number, bigint>): number {
  return [...until].reduce((sum, [partition, end]) => sum + Math.max(0, Number(end - (folded.get(partition) ?? 0n))), 0)
}

async function requireBeginning(connection: LogConnection, topic: string): Promise<void> {
  const late = [...(await readWatermarks(connection, topic))].filter(([, { low }]) => low > 0n)
  if (late.length === 0) return
  const places = late.map(([partition, { low }]) => `${topic}/${partition} at ${low}`).join(', ')
  throw new ReplayError(
    'LOG_BEGINS_LATE',
    `The log no longer has its first records: it begins with ${places}. Their rows cannot be rebuilt.`,
  )
}
