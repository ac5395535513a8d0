import type { FetchedBatch, FetchedRecord } from '@nextvisit/log'
import { insertDeadLetters } from '../dead-letters/dead-letters.ts'
import type { Recorded } from '../projection.ts'
import { type FoldedRecords, foldRecords, type FoldScope } from './fold-records.ts'
import type { FoldResult } from './fold-result.ts'
import { parseRecords } from './parse-records.ts'
import { commit, type Position } from './position.ts'
import { recordTimeOf } from './record-time.ts'

/** One partition's part of a common commit. */
export interface Share {
  readonly position: Position
  /** Begins at the checkpoint. */
  readonly batch: FetchedBatch
  /** Why a record becomes a dead letter even if it can be parsed. */
  readonly deadBecause: (record: FetchedRecord) => string | undefined
}

/** What became of a share. */
export interface FoldedShare {
  readonly result: FoldResult
  /** What follows its commit, such as replies. Never rejects. */
  readonly after: Promise<unknown>
}

export interface GroupScope<Fact, Draft> extends FoldScope<Fact, Draft> {
  /** Called for each record that is in the read model now. */
  readonly onFolded?: (record: Recorded<Fact>) => void
  /** `after` or `onDuplicates` failed. What they do may be lost. */
  readonly onAfterFailed?: (error: unknown) => void
  /** Called after each commit. */
  readonly onCommitted?: (commit: { readonly records: number; readonly outboxRows: number }) => void
}

/**
 * Folds shares of different partitions together and commits them in one transaction, with the fences of all of them. A
 * share whose fence fails is taken out, and the others are folded again without it.
 */
export async function foldGroup<Fact, Draft>(
  scope: GroupScope<Fact, Draft>,
  shares: readonly Share[],
): Promise<ReadonlyMap<Share, FoldedShare>> {
  const { projection, db, serviceVersion, onFolded, onCommitted } = scope
  const parsed = shares.map((share) => ({
    share,
    ...parseRecords(projection.schema, share.batch.records, share.deadBecause),
  }))
  const recorded = parsed.flatMap((one) => one.recorded)
  const deadLetters = parsed.flatMap((one) => one.deadLetters)
  const folded = await foldRecords(scope, recorded)
  const letters = insertDeadLetters(projection.name, serviceVersion, deadLetters)
  const stale = await commit(db, shares.map(partOf), [...letters, ...folded.statements])
  if (stale.size > 0) return foldWithout(scope, shares, stale)
  if (onFolded) recorded.forEach(onFolded)
  onCommitted?.({ records: recorded.length - folded.duplicates.length, outboxRows: folded.outboxRows })
  const after = runAfter(scope, folded)
  const dropped = new Set(folded.duplicates)
  return new Map(
    parsed.map((one) => {
      const duplicates = one.recorded.filter((record) => dropped.has(record)).length
      const records = one.recorded.length - duplicates
      return [
        one.share,
        { result: { outcome: 'folded', records, deadLetters: one.deadLetters.length, duplicates }, after },
      ]
    }),
  )
}

function partOf({ position, batch }: Share) {
  const last = batch.records.at(-1)
  return { position, advance: { nextOffset: batch.nextOffset, recordTime: last && recordTimeOf(last) } }
}

async function foldWithout<Fact, Draft>(
  scope: GroupScope<Fact, Draft>,
  shares: readonly Share[],
  stale: ReadonlyMap<Position, FoldResult>,
): Promise<ReadonlyMap<Share, FoldedShare>> {
  const out = shares.flatMap((share): [Share, FoldedShare][] => {
    const result = stale.get(share.position)
    return result ? [[share, { result, after: Promise.resolve() }]] : []
  })
  const others = shares.filter(({ position }) => !stale.has(position))
  return new Map([...out, ...(others.length > 0 ? await foldGroup(scope, others) : [])])
}

/** What follows a commit may fail: the records are folded all the same. */
async function runAfter<Fact, Draft>(
  { projection, db, context, onAfterFailed }: GroupScope<Fact, Draft>,
  { draft, duplicates }: FoldedRecords<Fact, Draft>,
): Promise<void> {
  if (context.isRebuild) return
  try {
    if (draft !== undefined) await projection.after?.(draft)
  } catch (error) {
    onAfterFailed?.(error)
  }
  try {
    if (duplicates.length > 0) await projection.onDuplicates?.(db, duplicates)
  } catch (error) {
    onAfterFailed?.(error)
  }
}
