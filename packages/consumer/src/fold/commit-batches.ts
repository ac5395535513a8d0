import type { Statement } from '@nextvisit/database'
import { insertDeadLetters } from '../dead-letters/dead-letters.ts'
import { outboxStatements } from '../outbox/outbox.ts'
import type { Recorded } from '../projection.ts'
import type { Outcomes } from './bisect.ts'
import { recordTimeOf } from './checkpoint.ts'
import { commit } from './commit.ts'
import type { Core } from './core.ts'
import { decodeRecords } from './decode-records.ts'
import { dropDuplicates, insertIdempotentRecords, pruneOldRecords } from './duplicates.ts'
import type { Folded, Outcome, PartitionBatch } from './partition-batch.ts'

/**
 * Folds batches of different partitions together, and commits them in one transaction under the fences of all. Leaves out
 * a batch whose fence fails, and folds the others again.
 */
export async function commitBatches<Fact, Draft>(
  core: Core<Fact, Draft>,
  batches: readonly PartitionBatch[],
): Promise<Outcomes> {
  const { projection, db, serviceVersion } = core
  const decoded = batches.map(({ records, deadBecause }) => decodeRecords(projection.schema, records, deadBecause))
  const recorded = decoded.flatMap((one) => one.recorded)
  const deadLetters = decoded.flatMap((one) => one.deadLetters)
  const folded = await foldRecords(core, recorded)
  const stale = await commit(db, batches.map(moveOf), [
    ...insertDeadLetters(projection.name, serviceVersion, deadLetters),
    ...folded.statements,
  ])
  if (stale.size > 0) {
    const others = batches.filter(({ checkpoint }) => !stale.has(checkpoint))
    const outcomes = others.length > 0 ? await commitBatches(core, others) : new Map<PartitionBatch, Outcome>()
    return new Map(
      batches.flatMap((batch) => {
        const outcome = stale.get(batch.checkpoint) ?? outcomes.get(batch)
        return outcome ? [[batch, outcome]] : []
      }),
    )
  }
  const { duplicates, outboxRows } = folded
  core.onCommitted?.({ recorded, duplicates: duplicates.length, outboxRows })
  const after = runAfter(core, folded)
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

function moveOf({ checkpoint, records, nextOffset }: PartitionBatch) {
  const last = records.at(-1)
  return { checkpoint, advance: { nextOffset, recordTime: last && recordTimeOf(last) } }
}

/** Records as their projection has folded them. Nothing is written yet. */
export interface FoldedRecords<Fact, Draft> {
  /** Undefined if every record was a duplicate. */
  readonly draft: Draft | undefined
  readonly duplicates: readonly Recorded<Fact>[]
  readonly statements: readonly Statement[]
  readonly outboxRows: number
}

/** Drops duplicates, then load → evolve* → save. Records of several partitions may be mixed. */
export async function foldRecords<Fact, Draft>(
  { projection, db, context }: Core<Fact, Draft>,
  recorded: readonly Recorded<Fact>[],
): Promise<FoldedRecords<Fact, Draft>> {
  const { records, duplicates, seen } = await dropDuplicates(db, projection.idempotencyOf, recorded)
  const ledger = [...insertIdempotentRecords(seen), ...pruneOldRecords('idempotent_records', seen)]
  if (records.length === 0) return { draft: undefined, duplicates, statements: ledger, outboxRows: 0 }
  const loaded = projection.load ? await projection.load(db, records, context) : projection.empty()
  const draft = records.reduce((so, record) => projection.evolve(so, record, context), loaded)
  const outbox = projection.publish?.(draft) ?? []
  const statements = [...ledger, ...projection.save(draft), ...outboxStatements(outbox)]
  return { draft, duplicates, statements, outboxRows: outbox.length }
}

/** A failure after the commit loses replies and figures, but no record. */
async function runAfter<Fact, Draft>(
  { projection, db, context, logger }: Core<Fact, Draft>,
  { draft, duplicates }: FoldedRecords<Fact, Draft>,
): Promise<void> {
  if (context.isRebuild) return
  const orWarn = async (work: () => Promise<void> | undefined): Promise<void> => {
    try {
      await work()
    } catch (err) {
      logger.warn({ err }, 'The work after a commit failed; continuing')
    }
  }
  if (draft !== undefined) await orWarn(() => projection.after?.(draft))
  if (duplicates.length > 0) await orWarn(() => projection.onDuplicates?.(db, duplicates))
}
