import { insertDeadLetters } from '../dead-letters/dead-letter-rows.ts'
import { insertOutbox } from '../outbox/outbox.ts'
import { type AnyFact, evolveDraft, type Recorded, type WithoutEffect } from '../core/projection.ts'
import { bisect } from './bisect.ts'
import { recordTimeOf } from '../core/tables.ts'
import { commit } from './commit.ts'
import { decodeBatches } from './decode-facts.ts'
import { dropDuplicates, rememberRecords } from './duplicates.ts'
import { eraseUsers } from './erase-users.ts'
import { erasuresOf } from './fence-records.ts'
import { contextOf, type FoldParts } from './fold-parts.ts'
import type { Folded, Outcomes, PartitionBatch, Stale } from './partition-batch.ts'

/**
 * Folds and commits batches of different partitions, together if possible: {@link bisect} says what happens after a failure.
 * Never rejects.
 */
export function foldBatches<Fact extends AnyFact, Draft>(
  parts: FoldParts<Fact, Draft>,
  batches: readonly PartitionBatch[],
): Promise<Outcomes> {
  return bisect(batches, (some) => commitBatches(parts, some))
}

/**
 * Folds batches together, and commits them in one transaction under the fences of all. Leaves out the batches whose fences
 * fail, and folds the others again.
 */
async function commitBatches<Fact extends AnyFact, Draft>(
  parts: FoldParts<Fact, Draft>,
  batches: readonly PartitionBatch[],
): Promise<Outcomes> {
  const { projection, db, serviceVersion } = parts
  const beganAt = performance.now()
  const decoded = await decodeBatches(parts, batches)
  const recorded = decoded.flatMap((one) => one.recorded)
  const deadLetters = decoded.flatMap((one) => one.deadLetters)
  const { draft, duplicates, statements, outboxRows } = await foldRecords(parts, recorded)
  const moves = batches.map((batch, index) => moveOf(batch, decoded[index]?.cutAt))
  const stale = await commit(db, moves, [
    ...insertDeadLetters(projection.name, serviceVersion, deadLetters),
    ...statements,
  ])
  if (stale.size > 0) return commitOthers(parts, batches, stale)
  const erased = recorded.filter(({ isErased }) => isErased)
  parts.onCommitted?.({
    batches,
    beganAt,
    recorded,
    duplicates: duplicates.length,
    erased: erased.length,
    outboxRows,
  })
  const after = runAfterCommit(parts, draft, { duplicates, erased })
  const dropped = new Set(duplicates)
  return new Map(
    batches.map((batch, index) => {
      const { recorded: own = [], deadLetters: dead = [] } = decoded[index] ?? {}
      const ownDuplicates = dropped.size === 0 ? 0 : own.filter((record) => dropped.has(record)).length
      const records = own.length - ownDuplicates
      const outcome: Folded = { outcome: 'folded', records, deadLetters: dead.length, duplicates: ownDuplicates, after }
      return [batch, outcome]
    }),
  )
}

function moveOf({ checkpoint, records, nextOffset: end }: PartitionBatch, nextOffset = end) {
  const last = records.findLast(({ offset }) => offset < nextOffset)
  return { checkpoint, to: { nextOffset, recordTime: last && recordTimeOf(last) } }
}

async function commitOthers<Fact extends AnyFact, Draft>(
  parts: FoldParts<Fact, Draft>,
  batches: readonly PartitionBatch[],
  stale: ReadonlyMap<PartitionBatch['checkpoint'], Stale>,
): Promise<Outcomes> {
  const others = batches.filter(({ checkpoint }) => !stale.has(checkpoint))
  const left = batches.flatMap((batch) => {
    const outcome = stale.get(batch.checkpoint)
    return outcome ? [[batch, outcome] as const] : []
  })
  return new Map([...left, ...(others.length > 0 ? await commitBatches(parts, others) : [])])
}

/** Drops duplicates and erased records, then load → evolve* → save. Records of several partitions may be mixed. Writes nothing. */
export async function foldRecords<Fact extends AnyFact, Draft>(
  parts: FoldParts<Fact, Draft>,
  recorded: readonly Recorded<Fact>[],
) {
  const { projection, db } = parts
  const context = contextOf(parts)
  const { records: firsts, duplicates, seen } = await dropDuplicates(db, projection.idempotencyOf, recorded)
  const records = firsts.filter(({ isErased }) => !isErased)
  const draft = evolveDraft(projection, await projection.load(db, records, context), records, context)
  const { statements, outbox = [] } = projection.save(draft)
  return {
    draft,
    duplicates,
    statements: [
      ...rememberRecords(seen),
      ...eraseUsers(projection, erasuresOf(projection, records)),
      ...statements,
      ...insertOutbox(outbox),
    ],
    outboxRows: outbox.length,
  }
}

/** A failure after the commit loses replies and figures, but no record. */
async function runAfterCommit<Fact extends AnyFact, Draft>(
  { projection, db, mode = 'live', logger }: FoldParts<Fact, Draft>,
  draft: Draft,
  without: WithoutEffect<Fact>,
): Promise<void> {
  if (mode !== 'live') return
  try {
    await projection.afterCommit?.(db, draft, without)
  } catch (err) {
    logger?.warn({ err }, 'The work after a commit failed; continuing')
  }
}
