import { formFactRows, type ReviewedTicksOptions } from '@nextvisit/consumer'
import type { QueueRow } from '@nextvisit/contracts'
import { type Db, sql, type Sql } from '@nextvisit/database'
import {
  cancel,
  expireDue,
  isOpen,
  type Moment,
  momentOf,
  OFFER_HOLDS_MS,
  type QueueChange,
  queueOf,
  completeUpTo,
} from '@nextvisit/domain'
import { toQueueRow, writeQueues } from './queue-rows.ts'
import { findRemovedForms, type RemovedForm } from './removed-forms.ts'
import { queues } from './tables.ts'

/** Maximum rows of each kind in a tick. The next tick takes the rest. */
const MAX_ROWS_A_TICK = 1_000

interface DueRow {
  readonly row: QueueRow
  /** The row waits, and its form was removed. An offered row waits again first: the next tick cancels it. */
  readonly isOfRemovedForm: boolean
}

/**
 * Ticks of a partition's open rows (forms.md, The queue). Unconfirmed offers wait again, due rows expire, and
 * rows of removed or disabled forms are cancelled. A tick settles the time five seconds ago: earlier visits are in the log
 * by now.
 */
export const queueTicks: ReviewedTicksOptions<RemovedForm> = {
  table: 'queue',
  isDue: (instant) => {
    const asOf = completeUpTo(instant)
    return sql`
        EXISTS (SELECT FROM queue WHERE queue.partition = owned.partition AND ${overdue(asOf)})
        OR EXISTS (SELECT FROM queue WHERE queue.partition = owned.partition AND ${expired(asOf)})`
  },
  compare: findRemovedForms,
  tick: async (db, instant, removed, { partition, mode }) => {
    // A rebuild takes the queue from `form-events`.
    if (mode === 'rebuild') return { statements: [] }
    const asOf = completeUpTo(instant)
    const due = await readDueRows(db, { asOf, removed, partition })
    const moments = { asOf: momentOf(asOf.toISOString()), now: momentOf(instant.toISOString()) }
    const changes = due.map((one) => tickRow(one, moments))
    const facts = changes.flatMap((change) => change.facts.map((fact) => ({ fact, partition })))
    return {
      statements: writeQueues({ updated: changes.flatMap(({ queue }) => [...queue.rows.values()]) }),
      outbox: formFactRows('form-trigger-evaluator', facts),
    }
  },
}

/** Changes a row. The other rows of its queue do not matter. */
function tickRow(
  { row, isOfRemovedForm }: DueRow,
  { asOf, now }: { readonly asOf: Moment; readonly now: Moment },
): QueueChange {
  const queue = queueOf([row])
  return isOfRemovedForm && isOpen(row) ? cancel(queue, row, now) : expireDue(queue, asOf)
}

/** Reads due rows, with a query for each index: an `OR` would read the whole table. */
async function readDueRows(
  db: Db,
  { asOf, removed, partition }: { asOf: Date; removed: readonly RemovedForm[]; partition: number },
): Promise<readonly DueRow[]> {
  const forms = queues.source('removed', removed, ['organization', 'project', 'formId', 'catalogRevision'])
  const rows = await db.$queryRaw<{ isOfRemovedForm: boolean }[]>(sql`
    (SELECT ${queues.columns}, false AS "isOfRemovedForm" FROM queue
     WHERE partition = ${partition} AND ${overdue(asOf)}
     LIMIT ${MAX_ROWS_A_TICK})
    UNION ALL
    (SELECT ${queues.columns}, false FROM queue
     WHERE partition = ${partition} AND ${expired(asOf)}
     LIMIT ${MAX_ROWS_A_TICK})
    UNION ALL
    (SELECT ${queues.columns}, true FROM (
       SELECT own.* FROM ${forms}, LATERAL (
         SELECT * FROM queue
         WHERE partition = ${partition} AND state = 'waiting' AND queue.catalog_revision <= removed.catalog_revision
           AND (queue.organization, queue.project, queue.form_id) = (removed.organization, removed.project, removed.form_id)
           AND (expires_at IS NULL OR expires_at > ${asOf.toISOString()}::timestamptz)
         LIMIT ${MAX_ROWS_A_TICK}) AS own
       LIMIT ${MAX_ROWS_A_TICK}) AS queue)`)
  return rows.map(({ isOfRemovedForm, ...row }) => ({ row: toQueueRow(queues.parse(row)), isOfRemovedForm }))
}

/** Selects offers that were not confirmed in time. */
function overdue(instant: Date): Sql {
  const offeredUntil = new Date(instant.getTime() - OFFER_HOLDS_MS).toISOString()
  return sql`state = 'offered' AND offered_at <= ${offeredUntil}::timestamptz`
}

function expired(instant: Date): Sql {
  return sql`state = 'waiting' AND expires_at <= ${instant.toISOString()}::timestamptz`
}
