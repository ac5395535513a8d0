import { causeOfFailedRetry } from '@nextvisit/contracts'
import type { FetchedRecord } from '@nextvisit/log'
import { FoldFailedError, orFoldFailed } from '../errors.ts'
import type { PartitionCheckpoint } from '../fold/checkpoint.ts'
import { commit } from '../fold/commit.ts'
import { foldRecords } from '../fold/commit-batches.ts'
import type { Core } from '../fold/core.ts'
import { decodeBatches } from '../fold/decode-batches.ts'
import { type Folded, NOTHING_FOLDED, type Stale } from '../fold/partition-batch.ts'
import { messageOf } from '../watch/partition-alarms.ts'
import { readRetries, settleRetries } from './dead-letters.ts'
import type { AnyFact } from '../projection.ts'

/**
 * Folds the dead letters that an operator wants retried, as many as go into one commit. They are folded late: into this
 * service alone, and nothing is queued; what a record confirms, it confirms late.
 */
export async function retryDeadLetters<Fact extends AnyFact, Draft>(
  core: Core<Fact, Draft>,
  checkpoint: PartitionCheckpoint,
): Promise<Folded | Stale> {
  const late = { ...core, context: { ...core.context, isRebuild: true, isLate: true } }
  return foldOrBury(late, checkpoint, await readRetries(core.db, checkpoint.key))
}

/**
 * A bug stops a partition, but not for a letter that was passed long ago. Where several fail together, the first is
 * tried alone; where it fails alone, it is dead again.
 */
async function foldOrBury<Fact extends AnyFact, Draft>(
  core: Core<Fact, Draft>,
  checkpoint: PartitionCheckpoint,
  retries: readonly FetchedRecord[],
): Promise<Folded | Stale> {
  const { db, serviceVersion } = core
  const [first, ...others] = retries
  if (!first) return NOTHING_FOLDED
  try {
    return await orFoldFailed(checkpoint.key, checkpoint.current().nextOffset, foldLate(core, checkpoint, retries))
  } catch (error) {
    if (!(error instanceof FoldFailedError)) throw error
    if (others.length > 0) return foldOrBury(core, checkpoint, [first])
    const reason = causeOfFailedRetry(messageOf(error.cause))
    const buried = settleRetries(checkpoint.key, serviceVersion, [], [{ record: first, reason }])
    const stale = await commit(db, [{ checkpoint }], [buried])
    return stale.get(checkpoint) ?? { ...NOTHING_FOLDED, deadLetters: 1 }
  }
}

async function foldLate<Fact extends AnyFact, Draft>(
  core: Core<Fact, Draft>,
  checkpoint: PartitionCheckpoint,
  retries: readonly FetchedRecord[],
): Promise<Folded | Stale> {
  const { db, serviceVersion } = core
  const [decoded] = await decodeBatches(core, [{ records: retries }])
  const { recorded = [], deadLetters = [] } = decoded ?? {}
  const { duplicates, statements } = await foldRecords(core, recorded)
  const dead = new Set(deadLetters.map(({ record }) => record))
  const passed = retries.filter((record) => !dead.has(record))
  const settled = settleRetries(checkpoint.key, serviceVersion, passed, deadLetters)
  const stale = await commit(db, [{ checkpoint }], [settled, ...statements])
  const records = recorded.length - duplicates.length
  return stale.get(checkpoint) ?? { outcome: 'folded', records, deadLetters: dead.size, duplicates: duplicates.length }
}
