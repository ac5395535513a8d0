import { type Projection, readFences, type Recorded } from '@nextvisit/consumer'
import { FormFact, type FormQueued, type QueueRow, type QueueRowFact, TOPICS } from '@nextvisit/contracts'
import type { Db } from '@nextvisit/database'
import { applyFormFactToRow, userKeyOf } from '@nextvisit/domain'
import { partitionForKey } from '@nextvisit/log'
import { toQueueRow, writeQueues } from './queue-rows.ts'
import { queues } from './tables.ts'

/** The rows that facts name, by id: stored, and changed by the facts. */
interface QueueDraft {
  readonly stored: ReadonlyMap<string, QueueRow>
  readonly changed: Map<string, QueueRow>
  /** The fences of erased users, by `userKeyOf`. */
  readonly fences: ReadonlyMap<string, { readonly offset: bigint }>
}

/**
 * Creates the projection of the queue from the evaluator's own decisions, for rebuilds alone (forms.md, The queue). `user-events` says
 * which rows an erasure has deleted, so `QueueErased` has no effect: the log may contain it, or an erased row, a second time.
 */
export function createQueueProjection(userEventsPartitions: number): Projection<FormFact, QueueDraft> {
  return {
    name: 'form-trigger-evaluator.queue',
    topic: TOPICS.formEvents,
    schema: FormFact,
    load: readNamedRows,
    evolve: {
      FormQueued: (draft, record) => {
        if (!isErased(draft, record.fact)) evolveRow(draft, record)
      },
      FormDelivered: evolveRow,
      FormCancelled: evolveRow,
      FormExpired: evolveRow,
      QueueErased: 'ignored',
    },
    save: ({ stored, changed }) => {
      const { updated = [], inserted = [] } = Object.groupBy(changed.values(), ({ id }) =>
        stored.has(id) ? 'updated' : 'inserted',
      )
      const ofPartition = inserted.map((row) => {
        return { ...row, partition: partitionForKey(row.userId, userEventsPartitions) }
      })
      return { statements: writeQueues({ updated, stored, inserted: ofPartition }) }
    },
  }
}

function evolveRow({ stored, changed }: QueueDraft, { fact }: Recorded<QueueRowFact>): void {
  const before = changed.get(fact.queuedId) ?? stored.get(fact.queuedId)
  const after = applyFormFactToRow(before, fact)
  if (after && after !== before) changed.set(after.id, after)
}

/** An erasure that is folded later deletes the row. */
function isErased({ fences }: QueueDraft, fact: FormQueued): boolean {
  const fence = fences.get(userKeyOf(fact))
  return fence !== undefined && (fact.causeOffset ?? -1) < fence.offset
}

async function readNamedRows(db: Db, batch: readonly Recorded<FormFact>[]): Promise<QueueDraft> {
  const named = batch.flatMap(({ fact }) => ('queuedId' in fact ? { ...fact, id: fact.queuedId } : []))
  const rows = await queues.selectByKeys(db, named)
  const fences = await readFences(db, new Set(batch.map(({ fact }) => fact.userId)))
  return { stored: new Map(rows.map((row) => [row.id, toQueueRow(row)])), changed: new Map(), fences }
}
