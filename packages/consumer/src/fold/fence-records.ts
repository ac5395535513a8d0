import type { SealedFormFact, SealedUserFact } from '@nextvisit/contracts'
import { type Db, sql } from '@nextvisit/database'
import { type Fence, isFenced, userKeyOf } from '@nextvisit/domain'
import type { AnyFact, Projection, Recorded } from '../core/projection.ts'
import { readLedger } from './duplicates.ts'
import type { PartitionCheckpoint } from './checkpoint.ts'
import type { Erasure } from './erase-users.ts'
import type { FoldParts } from './fold-parts.ts'
import type { DecodedBatch } from './partition-batch.ts'

/**
 * Marks the records that an erasure of their user covers (decision 18, The fence rule): they are folded without effect, and their
 * sealed members stay closed. Ends each batch before the first record of a user whom it has erased: the rows that a draft holds of
 * that user are gone by then. Erasures of the batch cover its earlier records already. Those of a `QueueErased` are folded: a reader of
 * `form-events` counts them by their clear members, so its rows must not depend on the batch.
 */
export async function fenceRecords<Fact extends AnyFact, Draft, Batch extends OpenedBatch<Fact>>(
  parts: Pick<FoldParts<Fact, Draft>, 'projection' | 'db'>,
  batches: readonly Batch[],
): Promise<readonly Batch[]> {
  const { projection, db } = parts
  const erasureType = erasureTypeOf(projection)
  if (!erasureType) return batches
  const cut = batches.map((batch) => cutBatch(batch, erasureType))
  if (!holdsPersonalRows(projection)) return cut
  await readErased(db, cut)
  const fences = await readFences(db, usersWithFence(cut))
  for (const { checkpoint, recorded } of cut) {
    const { erased } = checkpoint.current()
    for (const erasure of await newErasures(db, erasuresIn(recorded, erasureType))) {
      if (erasureType === 'UserErased') fences.set(userKeyOf(erasure.fact), fenceOf(erasure))
      if (erased instanceof Set) erased.add(erasure.fact.userId)
    }
  }
  if (fences.size === 0) return cut
  return cut.map((batch) => ({ ...batch, recorded: batch.recorded.map((record) => marked(record, fences)) }))
}

/**
 * Marks the folded records of a partition that an erasure covers, wherever it is in the log. Unlike {@link fenceRecords}, it knows the
 * erasures after them.
 */
export async function markErased<Fact extends AnyFact>(
  projection: ErasedBy,
  db: Db,
  batch: OpenedBatch<Fact>,
): Promise<readonly Recorded<Fact>[]> {
  if (!holdsPersonalRows(projection)) return batch.recorded
  await readErased(db, [batch])
  const fences = await readFences(db, usersWithFence([batch]))
  return fences.size === 0 ? batch.recorded : batch.recorded.map((record) => marked(record, fences))
}

/** A decoded batch of the partition with this checkpoint. */
interface OpenedBatch<Fact> extends DecodedBatch<Fact> {
  readonly checkpoint: PartitionCheckpoint
}

/** Users of a partition with a fence that are kept in memory. For more, each commit asks Postgres for its users. */
const MAX_ERASED_IN_MEMORY = 10_000

/** Reads the erased users of partitions whose checkpoints were read since, so that nearly no commit asks for fences. */
async function readErased(db: Db, batches: readonly OpenedBatch<AnyFact>[]): Promise<void> {
  const unread = batches.filter(({ checkpoint }) => checkpoint.current().erased === undefined)
  if (unread.length === 0) return
  const partitions = unread.map(({ checkpoint }) => checkpoint.key.partition)
  const rows = await db.$queryRaw<{ partition: number; userIds: string[] }[]>(sql`
    SELECT owned.partition, ARRAY(
      SELECT user_id::text FROM erased_users WHERE erased_users.partition = owned.partition LIMIT ${MAX_ERASED_IN_MEMORY + 1}
    ) AS "userIds"
    FROM unnest(${partitions}::int[]) AS owned (partition)`)
  const found = new Map(rows.map(({ partition, userIds }) => [partition, userIds]))
  for (const { checkpoint } of unread) {
    const userIds = found.get(checkpoint.key.partition) ?? []
    const erased = userIds.length > MAX_ERASED_IN_MEMORY ? 'many' : new Set(userIds)
    checkpoint.replace({ ...checkpoint.current(), erased })
  }
}

/** Returns the users of batches who have a fence, perhaps also others. */
function usersWithFence(batches: readonly OpenedBatch<AnyFact>[]): ReadonlySet<string> {
  const users = new Set<string>()
  for (const { checkpoint, recorded } of batches) {
    const { erased = 'many' } = checkpoint.current()
    if (erased !== 'many' && erased.size === 0) continue
    for (const record of recorded) {
      const { userId } = factOf(record)
      if (erased === 'many' || erased.has(userId)) users.add(userId)
    }
  }
  return users
}

/** The members of a projection that say which records erase a user. */
interface ErasedBy {
  readonly evolve: object
  readonly fence?: Projection['fence']
}

/** Returns the type of the records that erase a user; undefined: a projection folds none. */
export function erasureTypeOf({ evolve, fence }: ErasedBy): Erasure['type'] | undefined {
  return fence ?? ('UserErased' in evolve ? 'UserErased' : undefined)
}

/** Returns true if erasures have an effect on a projection's rows. Others count erased records, too. */
export function holdsPersonalRows(projection: ErasedBy): boolean {
  const type = erasureTypeOf(projection)
  return type !== undefined && (projection.evolve as Readonly<Record<string, unknown>>)[type] !== 'ignored'
}

/** Returns the erasures among records that a projection folds. */
export function erasuresOf(projection: ErasedBy, recorded: readonly Recorded<AnyFact>[]): readonly Recorded<Erasure>[] {
  const type = erasureTypeOf(projection)
  return type ? erasuresIn(recorded, type) : []
}

function erasuresIn(
  recorded: readonly Recorded<AnyFact>[],
  erasureType: Erasure['type'],
): readonly Recorded<Erasure>[] {
  return recorded.filter((record): record is Recorded<Erasure> => record.fact.type === erasureType)
}

/** Reads the last fences of these users, by `userKeyOf`. */
export async function readFences(db: Pick<Db, '$queryRaw'>, userIds: ReadonlySet<string>): Promise<Map<string, Fence>> {
  if (userIds.size === 0) return new Map()
  const rows = await db.$queryRaw<
    {
      organization: string
      project: string
      userId: string
      offset: bigint
      causeOffset: bigint | null
      keysUntil: Date
    }[]
  >(sql`
    SELECT organization, project, user_id AS "userId", "offset", cause_offset AS "causeOffset", keys_until AS "keysUntil"
    FROM erased_users WHERE user_id = ANY(${[...userIds]}::uuid[])`)
  return new Map(
    rows.map(({ offset, causeOffset, keysUntil, ...user }) => [
      userKeyOf(user),
      { offset, keysUntilMs: keysUntil.getTime(), ...(causeOffset !== null && { causeOffset }) },
    ]),
  )
}

/** Returns the erasures that are not duplicates. The eraser publishes at least once, and only the first copy is a fence. */
async function newErasures(db: Db, erasures: readonly Recorded<Erasure>[]): Promise<readonly Recorded<Erasure>[]> {
  if (erasures.length === 0) return []
  const seen = await readLedger(
    db,
    erasures.map(({ fact }) => fact.id),
  )
  return erasures.filter(({ fact }) => !seen.has(fact.id))
}

function fenceOf({ fact, offset }: Recorded<Erasure>): Fence {
  return { offset, keysUntilMs: Date.parse(fact.keysUntil) }
}

/** The facts of such a projection are those of `user-events` or `form-events`. */
function factOf({ fact }: Recorded<AnyFact>): SealedUserFact | SealedFormFact {
  return fact as SealedUserFact | SealedFormFact
}

function marked<Fact extends AnyFact>(record: Recorded<Fact>, fences: ReadonlyMap<string, Fence>): Recorded<Fact> {
  const fact = factOf(record)
  const fence = fences.get(userKeyOf(fact))
  return fence && isFenced({ offset: record.offset, fact }, fence) ? { ...record, isErased: true } : record
}

function cutBatch<Fact extends AnyFact, Batch extends DecodedBatch<Fact>>(
  batch: Batch,
  erasureType: Erasure['type'],
): Batch {
  const cutAt = cutOf(batch.recorded, erasureType)
  if (cutAt === undefined) return batch
  const isBefore = ({ offset }: { readonly offset: bigint }): boolean => offset < cutAt
  return {
    ...batch,
    recorded: batch.recorded.filter(isBefore),
    deadLetters: batch.deadLetters.filter(({ record }) => isBefore(record)),
    cutAt,
  }
}

/** Returns the offset of the first record of a user whom an earlier one erases. */
function cutOf(recorded: readonly Recorded<AnyFact>[], erasureType: Erasure['type']): bigint | undefined {
  const erased = new Set<string>()
  for (const record of recorded) {
    const fact = factOf(record)
    const isErased = erased.size > 0 && erased.has(userKeyOf(fact))
    if (isErased) return record.offset
    if (fact.type === erasureType) erased.add(userKeyOf(fact))
  }
  return undefined
}
