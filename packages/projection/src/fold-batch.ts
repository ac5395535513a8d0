import type { FetchedBatch, FetchedRecord } from '@nextvisit/log'
import { insertDeadLetters } from './dead-letters.ts'
import { type FoldScope, foldRecords } from './fold-records.ts'
import type { FoldResult } from './fold-result.ts'
import { parseRecords } from './parse-records.ts'
import type { Recorded } from './projection.ts'
import { recordTimeOf } from './record-time.ts'

export interface FoldBatchOptions<Fact> {
  /** Why a record becomes a dead letter even if it can be parsed. */
  readonly deadBecause: (record: FetchedRecord) => string | undefined
  /** Called for each record that is in the read model now. */
  readonly onFolded?: (record: Recorded<Fact>) => void
  /** `after` or `onDuplicates` failed. What they do may be lost. */
  readonly onAfterFailed?: (error: unknown) => void
}

/** Folds and commits a batch that begins at the checkpoint, then runs what follows a commit. */
export async function foldBatch<Fact, Draft>(
  scope: FoldScope<Fact, Draft> & FoldBatchOptions<Fact>,
  batch: FetchedBatch,
): Promise<FoldResult> {
  const { projection, db, position, serviceVersion, context, deadBecause, onFolded, onAfterFailed } = scope
  const { recorded, deadLetters } = parseRecords(projection.schema, batch.records, deadBecause)
  const { draft, records, duplicates, statements } = await foldRecords(scope, recorded)
  const letters = insertDeadLetters(projection.name, serviceVersion, deadLetters)
  const last = batch.records.at(-1)
  const stale = await position.commit([...letters, ...statements], {
    nextOffset: batch.nextOffset,
    recordTime: last && recordTimeOf(last),
  })
  if (stale) return stale
  if (onFolded) recorded.forEach(onFolded)
  if (!context.isRebuild) {
    if (records > 0) await runAfter(() => projection.after?.(draft), onAfterFailed)
    if (duplicates.length > 0) await runAfter(() => projection.onDuplicates?.(db, duplicates), onAfterFailed)
  }
  return { outcome: 'folded', records, deadLetters: deadLetters.length, duplicates: duplicates.length }
}

/** What follows a commit may fail: the batch is folded all the same. */
async function runAfter(
  work: () => Promise<void> | undefined,
  onFailed: FoldBatchOptions<never>['onAfterFailed'],
): Promise<void> {
  try {
    await work()
  } catch (error) {
    onFailed?.(error)
  }
}
