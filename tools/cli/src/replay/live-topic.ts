import { createPartitionFold, type Projection, rebuildInto } from '@nextvisit/consumer'
import { sql } from '@nextvisit/database'
import type { FetchedRecord } from '@nextvisit/log'
import {
  type RebuildContext,
  type RebuildSource,
  readOffsets,
  remainingIn,
  requireBeginning,
} from './rebuild-source.ts'
import { ReplayError } from './replay-error.ts'

/** Bound of ticks, far more than the users of one partition need. */
const MAX_TICKS = 10_000

/**
 * Creates the source of a topic that the consumer folds live. It stops at the live checkpoints and omits the live dead
 * letters.
 */
export function liveTopic(context: RebuildContext, projection: Projection): RebuildSource {
  const { name, topic } = projection
  const { client, db, schemas, connection, catalog, serviceVersion, onProgress, onNotRebuilt } = context
  const reported = new Set<string>()
  const readUntil = () => readOffsets(client, schemas.live, name, topic)

  return {
    remaining: async () => remainingIn(await readUntil(), await readOffsets(client, schemas.rebuilt, name, topic)),
    foldUp: async () => {
      await requireBeginning(connection, topic)
      const until = await readUntil()
      // Reads them after the checkpoints: a dead letter is committed with the checkpoint that passes it.
      const unfolded = await readUnfolded(context, projection)
      const deadBecause = (record: FetchedRecord): string | undefined => {
        const setAside = setAsideAt(unfolded, record)
        if (setAside === undefined) return undefined
        if (setAside === record.offset) return 'a dead letter of the live read models'
        const notRebuilt = notRebuiltLine(record, setAside)
        if (!reported.has(notRebuilt)) onNotRebuilt(notRebuilt)
        reported.add(notRebuilt)
        return notRebuilt
      }
      await rebuildInto({ projection, db, connection, topic, until, catalog, serviceVersion, deadBecause, onProgress })
      await foldRetried(context, projection)
      await settle(context, projection)
    },
  }
}

/** The live dead letters that are not folded: waiting and discarded ones. */
interface UnfoldedLetters {
  /** Offsets of the letters, by `partition/offset`. */
  readonly records: ReadonlySet<string>
  /** Offsets of the letters that describe an undecodable batch, by `partition/last offset of the batch`. */
  readonly standIns: ReadonlyMap<string, bigint>
}

async function readUnfolded(
  { client, schemas }: RebuildContext,
  { name, topic }: Projection,
): Promise<UnfoldedLetters> {
  // Of the letters of one batch, the first counts. Postgres cannot read a member of `headers` if any has U+0000.
  const { rows } = await client.query<{ partition: number; offset: string; headers: string | null }>(
    `SELECT partition, "offset", CASE WHEN headers::text LIKE '%"omitted-offsets"%' THEN headers::text END AS headers
     FROM ${schemas.live}.dead_letters WHERE projection = $1 AND topic = $2 AND state <> 'retried'
     ORDER BY "offset" DESC`,
    [name, topic],
  )
  const standIns = rows.flatMap(({ partition, offset, headers }) => {
    const { 'omitted-offsets': offsets } = JSON.parse(headers ?? '{}') as Record<string, string>
    return offsets === undefined ? [] : [[`${partition}/${offsets.split('-')[1]}`, BigInt(offset)] as const]
  })
  return {
    records: new Set(rows.map(({ partition, offset }) => `${partition}/${offset}`)),
    standIns: new Map(standIns),
  }
}

/**
 * Returns the offset at which the live consumer has set a record aside; undefined if it has not. That of an undecodable
 * batch is later than here if the live consumer had folded its first records before the batch was damaged.
 */
function setAsideAt({ records, standIns }: UnfoldedLetters, record: FetchedRecord): bigint | undefined {
  const { partition, offset, undecodable } = record
  if (!undecodable) return records.has(`${partition}/${offset}`) ? offset : undefined
  const at = standIns.get(`${partition}/${undecodable.lastOffset}`)
  return at !== undefined && at >= offset && at <= undecodable.lastOffset ? at : undefined
}

function notRebuiltLine({ topic, partition, offset }: FetchedRecord, setAside: bigint): string {
  return `Offsets ${offset} to ${setAside - 1n} of ${topic}/${partition} were folded live before their batch was damaged: they cannot be rebuilt`
}

/** Folds the dead letters that were retried live after the rebuild had omitted them. */
async function foldRetried(context: RebuildContext, projection: Projection): Promise<void> {
  const { db, catalog, serviceVersion } = context
  const { topic } = projection
  for (const partition of await requestRetries(context, projection)) {
    const fold = createPartitionFold({ projection, db, topic, partition, catalog, serviceVersion, mode: 'rebuild' })
    await fold.open()
    for (;;) {
      const result = await fold.retry()
      if (result.outcome === 'folded' && result.records + result.duplicates + result.deadLetters === 0) break
    }
  }
}

/** Requests the retry of the rebuilt dead letters that were retried live. Returns their partitions. */
async function requestRetries(
  { client, db, schemas }: RebuildContext,
  { name, topic }: Projection,
): Promise<ReadonlySet<number>> {
  const own = await db.$queryRaw<{ partition: number; offset: bigint }[]>(sql`
    SELECT partition, "offset" FROM dead_letters
    WHERE projection = ${name} AND topic = ${topic} AND state IN ('dead', 'retry')`)
  if (own.length === 0) return new Set()
  // Uses the connection that holds the locks of the live tables.
  const { rows } = await client.query<{ partition: number; offset: string }>(
    `SELECT partition, "offset" FROM ${schemas.live}.dead_letters
     JOIN unnest($3::int[], $4::bigint[]) AS own (partition, "offset") USING (partition, "offset")
     WHERE projection = $1 AND topic = $2 AND state = 'retried'`,
    [name, topic, own.map(({ partition }) => partition), own.map(({ offset }) => String(offset))],
  )
  const offsets = rows.map(({ offset }) => offset)
  const requested = await db.$queryRaw<{ partition: number }[]>(sql`
    UPDATE dead_letters AS own SET state = 'retry'
    FROM unnest(${rows.map(({ partition }) => partition)}::int[], ${offsets}::bigint[]) AS theirs (partition, "offset")
    WHERE own.projection = ${name} AND own.topic = ${topic} AND own.state IN ('dead', 'retry')
      AND (theirs.partition, theirs."offset") = (own.partition, own."offset")
    RETURNING own.partition`)
  return new Set(requested.map(({ partition }) => partition))
}

/** Ticks until the rebuilt rows are settled as far as the live ones. */
async function settle(context: RebuildContext, projection: Projection): Promise<void> {
  const { client, db, schemas, catalog, serviceVersion, settledUntil } = context
  if (!settledUntil) return
  const { topic } = projection
  const { rows } = await client.query<{ partition: number; instant: Date }>(settledUntil(schemas.live))
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

function notSettled(partition: number): ReplayError {
  return new ReplayError(
    'NOT_SETTLED',
    `Partition ${partition} is not settled after ${MAX_TICKS} ticks. This is a bug. Nothing was swapped.`,
  )
}
