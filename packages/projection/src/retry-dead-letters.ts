import type { FetchedRecord } from '@nextvisit/log'
import { readRetries, settleRetries } from './dead-letters.ts'
import { FoldFailedError, orFoldFailed } from './errors.ts'
import { type FoldScope, foldRecords } from './fold-records.ts'
import { type FoldResult, NOTHING_FOLDED } from './fold-result.ts'
import { messageOf } from './partition-alarms.ts'
import { parseRecords } from './parse-records.ts'

/**
 * Folds the dead letters that an operator wants retried, as many as go into one commit. They are folded late: into this
 * service alone, and nothing is queued; what a record confirms, it confirms late.
 */
export async function retryDeadLetters<Fact, Draft>(scope: FoldScope<Fact, Draft>): Promise<FoldResult> {
  const late = { ...scope, context: { ...scope.context, isRebuild: true, isLate: true } }
  return foldOrBury(late, await readRetries(scope.db, scope.position.key))
}

/**
 * A bug stops a partition, but not for a letter that was passed long ago. Where several fail together, the first is
 * tried alone; where it fails alone, it is dead again.
 */
async function foldOrBury<Fact, Draft>(
  scope: FoldScope<Fact, Draft>,
  retries: readonly FetchedRecord[],
): Promise<FoldResult> {
  const { position, serviceVersion } = scope
  const [first, ...others] = retries
  if (!first) return NOTHING_FOLDED
  try {
    return await orFoldFailed(position.key, position.checkpoint().nextOffset, foldLate(scope, retries))
  } catch (error) {
    if (!(error instanceof FoldFailedError)) throw error
    if (others.length > 0) return foldOrBury(scope, [first])
    const reason = `folding it failed: ${messageOf(error.cause)}`
    const stale = await position.commit([settleRetries(position.key, serviceVersion, [], [{ record: first, reason }])])
    return stale ?? { ...NOTHING_FOLDED, deadLetters: 1 }
  }
}

async function foldLate<Fact, Draft>(
  scope: FoldScope<Fact, Draft>,
  retries: readonly FetchedRecord[],
): Promise<FoldResult> {
  const { projection, position, serviceVersion } = scope
  const { recorded, deadLetters } = parseRecords(projection.schema, retries)
  const { records, duplicates, statements } = await foldRecords(scope, recorded)
  const dead = new Set(deadLetters.map(({ record }) => record))
  const passed = retries.filter((record) => !dead.has(record))
  const settled = settleRetries(position.key, serviceVersion, passed, deadLetters)
  const stale = await position.commit([settled, ...statements])
  return stale ?? { outcome: 'folded', records, deadLetters: dead.size, duplicates: duplicates.length }
}
