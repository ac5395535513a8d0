import { causeOfFailedRetry } from '@nextvisit/contracts'
import type { FetchedRecord } from '@nextvisit/log'
import { causeOf, FoldFailedError, orFoldFailed } from '../core/errors.ts'
import type { PartitionCheckpoint } from './checkpoint.ts'
import { commit } from './commit.ts'
import { decodeBatches } from './decode-facts.ts'
import { foldRecords } from './fold-batches.ts'
import type { FoldParts } from './fold-parts.ts'
import { type Folded, NOTHING_FOLDED, type Stale } from './partition-batch.ts'
import type { AnyFact } from '../core/projection.ts'
import { endRetries, readRetries } from '../dead-letters/dead-letter-rows.ts'

/**
 * Folds dead letters that are to be retried, as many as fit in one commit. A live partition folds them late: only this
 * service changes, and no form is queued. A rebuild folds them like all its records.
 */
export async function foldRetries<Fact extends AnyFact, Draft>(
  parts: FoldParts<Fact, Draft>,
  checkpoint: PartitionCheckpoint,
): Promise<Folded | Stale> {
  const mode = parts.mode === 'rebuild' ? 'rebuild' : 'late'
  return foldOrBury({ ...parts, mode }, checkpoint, await readRetries(parts.db, checkpoint.key))
}

/**
 * Folds retries. If several fail together, the first is tried alone; if it fails alone, it is dead again. A failure does not
 * halt the partition, which passed these records long ago.
 */
async function foldOrBury<Fact extends AnyFact, Draft>(
  parts: FoldParts<Fact, Draft>,
  checkpoint: PartitionCheckpoint,
  retries: readonly FetchedRecord[],
): Promise<Folded | Stale> {
  const { db, serviceVersion } = parts
  const [first, ...others] = retries
  if (!first) return NOTHING_FOLDED
  try {
    return await orFoldFailed(
      checkpoint.key,
      checkpoint.current().nextOffset,
      commitRetries(parts, checkpoint, retries),
    )
  } catch (error) {
    if (!(error instanceof FoldFailedError)) throw error
    if (others.length > 0) return foldOrBury(parts, checkpoint, [first])
    const reason = causeOfFailedRetry(causeOf(error).message)
    const buried = endRetries(checkpoint.key, serviceVersion, { dead: [{ record: first, reason }] })
    const stale = await commit(db, [{ checkpoint }], [buried])
    return stale.get(checkpoint) ?? { ...NOTHING_FOLDED, deadLetters: 1 }
  }
}

async function commitRetries<Fact extends AnyFact, Draft>(
  parts: FoldParts<Fact, Draft>,
  checkpoint: PartitionCheckpoint,
  retries: readonly FetchedRecord[],
): Promise<Folded | Stale> {
  const { db, serviceVersion } = parts
  const [decoded = { recorded: [], deadLetters: [] }] = await decodeBatches(parts, [{ checkpoint, records: retries }])
  const { recorded, deadLetters, cutAt = Infinity } = decoded
  const { duplicates, statements } = await foldRecords(parts, recorded)
  const dead = new Set(deadLetters.map(({ record }) => record))
  const erased = new Set(recorded.flatMap(({ offset, isErased }) => (isErased ? offset : [])))
  const folded = retries.filter((record) => record.offset < cutAt && !dead.has(record) && !erased.has(record.offset))
  const refused = retries.filter(({ offset }) => erased.has(offset))
  const settled = endRetries(checkpoint.key, serviceVersion, { folded, dead: deadLetters, refused })
  const stale = await commit(db, [{ checkpoint }], [settled, ...statements])
  const records = recorded.length - duplicates.length
  return stale.get(checkpoint) ?? { outcome: 'folded', records, deadLetters: dead.size, duplicates: duplicates.length }
}
