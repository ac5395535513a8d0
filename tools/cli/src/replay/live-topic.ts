import { createPartitionFold, type Projection, rebuildInto } from '@nextvisit/consumer'
import type { LostOffsets } from '@nextvisit/contracts'
import { sql } from '@nextvisit/database'
import type { FetchedRecord } from '@nextvisit/log'
import { type LetterPosition, lostLine, readUnfoldedLetters } from './lost-offsets.ts'
import {
  countRemaining,
  type RebuildContext,
  type RebuildSource,
  readOffsets,
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
  const { client, schemas, connection, onLost } = context
  const readUntil = () => readOffsets(client, schemas.live, name, topic)

  return {
    remaining: async () => countRemaining(context, projection, await readUntil()),
    foldUp: async () => {
      await requireBeginning(connection, topic)
      const until = await readUntil()
      // Reads them after the checkpoints: a dead letter is committed with the checkpoint that passes it.
      const unfolded = byPlace(await readUnfoldedLetters(client, schemas.live, projection))
      const deadBecause = (record: FetchedRecord): string | undefined => {
        const setAside = setAsideAt(unfolded, record)
        if (setAside === undefined) return undefined
        if (setAside === record.offset) return 'a dead letter of the live read models'
        return lostLine(lostBefore(setAside, record))
      }
      await rebuildInto({ ...context, projection, topic, until, deadBecause })
      // An interrupted replay has passed batches, too.
      for (const letter of await readUnfoldedLetters(client, schemas.rebuilt, projection)) {
        const setAside = setAsideOf(unfolded, letter)
        if (setAside !== undefined && setAside > letter.offset) onLost(lostBefore(setAside, { ...letter, topic }))
      }
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

function byPlace(letters: readonly LetterPosition[]): UnfoldedLetters {
  const records = letters.map(({ partition, offset }) => `${partition}/${offset}`)
  // Of the letters of one batch, the first counts.
  const standIns = letters.toReversed().flatMap(({ partition, offset, lastOffset }) => {
    return lastOffset === undefined ? [] : [[`${partition}/${lastOffset}`, offset] as const]
  })
  return { records: new Set(records), standIns: new Map(standIns) }
}

/** Returns the offset at which the live consumer has set a record aside; undefined if it has not. */
function setAsideAt(unfolded: UnfoldedLetters, record: FetchedRecord): bigint | undefined {
  const { partition, offset, undecodable } = record
  if (undecodable) return setAsideOf(unfolded, { ...undecodable, partition, offset })
  return unfolded.records.has(`${partition}/${offset}`) ? offset : undefined
}

/**
 * Returns the offset at which the live consumer has set an undecodable batch aside; undefined if it has not. It is later
 * than here if the live consumer had folded its first records before the batch was damaged.
 */
function setAsideOf(
  { standIns }: UnfoldedLetters,
  { partition, offset, lastOffset }: LetterPosition,
): bigint | undefined {
  const at = lastOffset === undefined ? undefined : standIns.get(`${partition}/${lastOffset}`)
  return at !== undefined && lastOffset !== undefined && at >= offset && at <= lastOffset ? at : undefined
}

function lostBefore(
  setAside: bigint,
  { topic, partition, offset }: Pick<FetchedRecord, 'topic' | 'partition' | 'offset'>,
): LostOffsets {
  return { topic, partition, firstOffset: String(offset), lastOffset: String(setAside - 1n) }
}

/** Folds the dead letters that were retried live after the rebuild had omitted them. */
async function foldRetried(context: RebuildContext, projection: Projection): Promise<void> {
  const { topic } = projection
  for (const partition of await requestRetries(context, projection)) {
    const fold = createPartitionFold({ ...context, projection, topic, partition, mode: 'rebuild' })
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
  const { client, db, schemas, catalog, settledUntil } = context
  if (!settledUntil) return
  const { topic } = projection
  const { rows } = await client.query<{ partition: number; instant: Date }>(settledUntil(schemas.live))
  for (const { partition, instant } of rows) {
    const fold = createPartitionFold({ ...context, projection, topic, partition, mode: 'rebuild' })
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
