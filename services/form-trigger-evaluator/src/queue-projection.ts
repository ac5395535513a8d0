import { type Projection, readFences, type Recorded } from '@nextvisit/consumer'
import { type FormQueued, type QueueRow, type QueueRowFact, SealedFormFact, TOPICS } from '@nextvisit/contracts'
import { type Db, type RowOf, sql } from '@nextvisit/database'
import { applyFormFactToRow, isOpen, userKeyOf } from '@nextvisit/domain'
import { partitionForKey } from '@nextvisit/log'
import { toQueueRow, writeQueues } from './queue-rows.ts'
import { queues } from './tables.ts'

/** The rows that facts name and the open rows of their users, by id: stored, and changed by the facts. */
interface QueueDraft {
  readonly stored: ReadonlyMap<string, QueueRow>
  readonly changed: Map<string, QueueRow>
  /** Stored rows that an erasure has deleted. */
  readonly erased: Map<string, QueueRow>
  /** The id of the last open row of each user and form. */
  readonly slots: Map<string, string>
  /** The fences of erased users, by `userKeyOf`. */
  readonly fences: ReadonlyMap<string, { readonly offset: bigint }>
}

/**
 * Creates the projection of the queue from the evaluator's own decisions, for rebuilds alone (forms.md, The queue). `user-events` says
 * which rows an erasure has deleted, so `QueueErased` has no effect: the log may contain it, or an erased row, a second time.
 */
export function createQueueProjection(userEventsPartitions: number): Projection<SealedFormFact, QueueDraft> {
  return {
    name: 'form-trigger-evaluator.queue',
    topic: TOPICS.formEvents,
    schema: SealedFormFact,
    load: readNamedRows,
    evolve: {
      FormQueued: (draft, record) => {
        if (!isErased(draft, record.fact) && takeSlot(draft, record.fact)) evolveRow(draft, record)
      },
      FormDelivered: evolveRow,
      FormCancelled: evolveRow,
      FormExpired: evolveRow,
      FormAnswered: evolveRow,
      QueueErased: 'ignored',
      SegmentEntered: 'ignored',
      SegmentLeft: 'ignored',
    },
    save: ({ stored, changed, erased }) => {
      const { updated = [], inserted = [] } = Object.groupBy(changed.values(), ({ id }) =>
        stored.has(id) ? 'updated' : 'inserted',
      )
      const ofPartition = inserted.map((row) => {
        return { ...row, partition: partitionForKey(row.userId, userEventsPartitions) }
      })
      return {
        statements: [
          ...queues.deleteByKeys([...erased.values()]),
          ...writeQueues({ updated, stored, inserted: ofPartition }),
        ],
      }
    },
  }
}

function evolveRow({ stored, changed }: QueueDraft, { fact }: Recorded<QueueRowFact>): void {
  const before = changed.get(fact.queuedId) ?? stored.get(fact.queuedId)
  const after = applyFormFactToRow(before, fact)
  if (after && after !== before) changed.set(after.id, after)
}

/**
 * A form has one open row of a user. A second one is in the log only if an erasure, whose fence is not folded yet, has deleted the
 * row whose cause is older. Deletes that row. Returns false if it is the row of this fact, which the log then repeats.
 */
function takeSlot({ stored, changed, erased, slots }: QueueDraft, fact: FormQueued): boolean {
  if (changed.has(fact.queuedId) || stored.has(fact.queuedId)) return true
  const id = slots.get(slotOf(fact)) ?? ''
  const row = changed.get(id) ?? stored.get(id)
  if (row && isOpen(row) && !erased.has(id)) {
    if ((row.causeOffset ?? -1) > (fact.causeOffset ?? -1)) return false
    changed.delete(id)
    if (stored.has(id)) erased.set(id, row)
  }
  slots.set(slotOf(fact), fact.queuedId)
  return true
}

function slotOf({ formId, ...user }: Pick<QueueRow, 'organization' | 'project' | 'userId' | 'formId'>): string {
  return `${userKeyOf(user)}/${formId}`
}

/** An erasure that was folded deletes the row. */
function isErased({ fences }: QueueDraft, fact: FormQueued): boolean {
  const fence = fences.get(userKeyOf(fact))
  return fence !== undefined && (fact.causeOffset ?? -1) < fence.offset
}

async function readNamedRows(db: Db, batch: readonly Recorded<SealedFormFact>[]): Promise<QueueDraft> {
  const named = batch.flatMap(({ fact }) => ('queuedId' in fact ? { ...fact, id: fact.queuedId } : []))
  const rows = [...(await queues.selectByKeys(db, named)), ...(await readOpenRowsOf(db, batch))]
  const fences = await readFences(db, new Set(batch.map(({ fact }) => fact.userId)))
  const stored = new Map(rows.map((row) => [row.id, toQueueRow(row)]))
  const slots = new Map([...stored.values()].filter(isOpen).map((row) => [slotOf(row), row.id]))
  return { stored, changed: new Map(), erased: new Map(), slots, fences }
}

/** Reads the open rows of the users whose forms these records queue, by the index of open rows. */
async function readOpenRowsOf(
  db: Db,
  batch: readonly Recorded<SealedFormFact>[],
): Promise<readonly RowOf<typeof queues>[]> {
  const queued = batch.flatMap(({ fact }) => (fact.type === 'FormQueued' ? fact : []))
  if (queued.length === 0) return []
  const columns = ['organization', 'project', 'userId', 'formId'] as const
  const where = sql`state IN ('waiting', 'offered')`
  return queues.select(db, sql`FROM ${queues.lookUp(queued, { columns, where, orderBy: 'formId' })}`)
}
