import { isRetryable, sqlStateOf } from '@nextvisit/database'
import type { FetchedBatch } from '@nextvisit/log'
import { type FoldResult, sumOf } from './fold-result.ts'

const STATEMENT_TIMEOUT = '57014'

interface BatchFold {
  readonly fold: (batch: FetchedBatch) => Promise<FoldResult>
  /** The checkpoint's. */
  readonly nextOffset: () => bigint
}

/**
 * Folds a batch. Where that fails because of its records, halves it until the part that fails is one record: what stands
 * before that record is committed. Throws only if nothing was. A part that takes Postgres too long is halved, too.
 */
export async function foldInParts({ fold, nextOffset }: BatchFold, batch: FetchedBatch): Promise<FoldResult> {
  try {
    return await fold(batch)
  } catch (error) {
    if (batch.records.length < 2 || !isOfTheRecords(error)) throw error
  }
  const [first, second] = halvesOf(batch)
  const folded = await foldInParts({ fold, nextOffset }, first)
  if (folded.outcome === 'stale' || nextOffset() < first.nextOffset) return folded
  try {
    return sumOf(folded, await foldInParts({ fold, nextOffset }, second))
  } catch {
    return folded // the next attempt begins there, and meets the error again
  }
}

/** Whether fewer records may fold: not while Postgres is unavailable or busy. */
function isOfTheRecords(error: unknown): boolean {
  return !isRetryable(error) || sqlStateOf(error) === STATEMENT_TIMEOUT
}

function halvesOf(batch: FetchedBatch): readonly [FetchedBatch, FetchedBatch] {
  const { records } = batch
  const half = records.length >> 1
  const between = records[half]?.offset ?? batch.nextOffset
  return [
    { ...batch, nextOffset: between, records: records.slice(0, half) },
    { ...batch, fetchedFrom: between, records: records.slice(half) },
  ]
}
