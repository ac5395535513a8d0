import { causeOfFailedRetry } from '@nextvisit/contracts'
import type { FetchedRecord } from '@nextvisit/log'
import { FoldFailedError, orFoldFailed } from '../errors.ts'
import { foldRecords, type FoldScope } from '../fold/fold-records.ts'
import { type FoldResult, NOTHING_FOLDED } from '../fold/fold-result.ts'
import { parseRecords } from '../fold/parse-records.ts'
import { commit, type Position } from '../fold/position.ts'
import { messageOf } from '../watch/partition-alarms.ts'
import { readRetries, settleRetries } from './dead-letters.ts'

/** The commits of one partition's ticks. */
export interface TickScope<Fact, Draft> extends FoldScope<Fact, Draft> {
  readonly position: Position
}

/**
 * Folds the dead letters that an operator wants retried, as many as go into one commit. They are folded late: into this
 * service alone, and nothing is queued; what a record confirms, it confirms late.
 */
export async function retryDeadLetters<Fact, Draft>(scope: TickScope<Fact, Draft>): Promise<FoldResult> {
  const late = { ...scope, context: { ...scope.context, isRebuild: true, isLate: true } }
  return foldOrBury(late, await readRetries(scope.db, scope.position.key))
}

/**
 * A bug stops a partition, but not for a letter that was passed long ago. Where several fail together, the first is
 * tried alone; where it fails alone, it is dead again.
 */
async function foldOrBury<Fact, Draft>(
  scope: TickScope<Fact, Draft>,
  retries: readonly FetchedRecord[],
): Promise<FoldResult> {
  const { db, position, serviceVersion } = scope
  const [first, ...others] = retries
  if (!first) return NOTHING_FOLDED
  try {
    return await orFoldFailed(position.key, position.checkpoint().nextOffset, foldLate(scope, retries))
  } catch (error) {
    if (!(error instanceof FoldFailedError)) throw error
    if (others.length > 0) return foldOrBury(scope, [first])
    const reason = causeOfFailedRetry(messageOf(error.cause))
    const buried = settleRetries(position.key, serviceVersion, [], [{ record: first, reason }])
    const stale = await commit(db, [{ position }], [buried])
    return stale.get(position) ?? { ...NOTHING_FOLDED, deadLetters: 1 }
  }
}

async function foldLate<Fact, Draft>(
  scope: TickScope<Fact, Draft>,
  retries: readonly FetchedRecord[],
): Promise<FoldResult> {
  const { projection, db, position, serviceVersion } = scope
  const { recorded, deadLetters } = parseRecords(projection.schema, retries)
  const { duplicates, statements } = await foldRecords(scope, recorded)
  const dead = new Set(deadLetters.map(({ record }) => record))
  const passed = retries.filter((record) => !dead.has(record))
  const settled = settleRetries(position.key, serviceVersion, passed, deadLetters)
  const stale = await commit(db, [{ position }], [settled, ...statements])
  const records = recorded.length - duplicates.length
  return stale.get(position) ?? { outcome: 'folded', records, deadLetters: dead.size, duplicates: duplicates.length }
}
