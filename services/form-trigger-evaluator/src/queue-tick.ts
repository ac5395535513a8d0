import type { CatalogView } from '@nextvisit/catalog'
import type { ProjectRef, QueueRow } from '@nextvisit/contracts'
import { type Db, sql, type Statement } from '@nextvisit/database'
import {
  cancel,
  compileForms,
  expireDue,
  isOpen,
  type Moment,
  momentOf,
  OFFER_HOLDS_MS,
  type QueueChange,
  queueOf,
} from '@nextvisit/domain'
import type { DueContext, FoldContext } from '@nextvisit/projection'
import { QUEUE_COLUMNS, type StoredQueueRow, toQueueRow, writeQueues } from './queue-rows.ts'

/** For each kind of row. The next tick takes the rest. */
const MAX_ROWS_A_TICK = 1_000

/** A form that has rows waiting in a partition. */
interface FormOfPartition extends ProjectRef {
  readonly partition: number
  readonly formId: string
}

/** A form that the workspace has disabled or no longer has, alone or with its project or organization. */
interface RemovedForm extends FormOfPartition {
  /** Of the catalog that says so. A row queued under a later one is left to an evaluator that knows that catalog. */
  readonly revision: number
}

interface DueRow {
  readonly row: QueueRow
  /** It waits, and its form was removed. An offered row waits again first: the tick after that cancels it. */
  readonly isOfRemovedForm: boolean
}

/** Those of these partitions that have rows for {@link tickQueue}: two queries, however many partitions there are. */
export async function findDueQueues(
  db: Db,
  instant: Date,
  { partitions, catalog }: DueContext,
): Promise<readonly number[]> {
  const [due, removed] = await Promise.all([
    db.$queryRaw<{ partition: number }[]>(sql`
      SELECT owned.partition FROM unnest(${partitions}::int[]) AS owned (partition)
      WHERE EXISTS (SELECT FROM queue WHERE queue.partition = owned.partition AND ${overdue(instant)})
         OR EXISTS (SELECT FROM queue WHERE queue.partition = owned.partition AND ${expired(instant)})`),
    readRemovedForms(db, partitions, catalog),
  ])
  return [...due, ...removed].map(({ partition }) => partition)
}

/**
 * What time and the workspace do to a partition's open rows (forms.md, The queue): an offer that was not confirmed waits
 * again, what is due expires, and rows of a form that was removed or disabled are cancelled.
 */
export async function tickQueue(db: Db, instant: Date, context: FoldContext): Promise<readonly Statement[]> {
  if (context.isRebuild) return []
  const removed = await readRemovedForms(db, [context.partition], context.catalog)
  const due = await readDueRows(db, { instant, removed, partition: context.partition })
  const now = momentOf(instant.toISOString())
  const changes = due.map((one) => tickRow(one, now))
  return writeQueues({
    updated: changes.flatMap(({ queue }) => [...queue.rows.values()]),
    facts: changes.flatMap(({ facts }) => facts),
  })
}

/** A row alone is as much of its queue as this needs. */
function tickRow({ row, isOfRemovedForm }: DueRow, now: Moment): QueueChange {
  const queue = queueOf([row])
  return isOfRemovedForm && isOpen(row) ? cancel(queue, row, now) : expireDue(queue, now)
}

/** Goes from form to form through the index, so that it costs the same whether ten rows wait or a million. */
async function readRemovedForms(db: Db, partitions: readonly number[], catalog: CatalogView): Promise<RemovedForm[]> {
  const forms = await db.$queryRaw<FormOfPartition[]>(sql`
    WITH RECURSIVE waiting AS (
      SELECT first.* FROM unnest(${partitions}::int[]) AS owned (partition), LATERAL (
        SELECT partition, organization, project, form_id FROM queue
        WHERE queue.partition = owned.partition AND state = 'waiting'
        ORDER BY organization, project, form_id LIMIT 1) AS first
      UNION ALL
      SELECT next.* FROM waiting, LATERAL (
        SELECT partition, organization, project, form_id FROM queue
        WHERE queue.partition = waiting.partition AND state = 'waiting'
          AND (queue.organization, queue.project, queue.form_id)
            > (waiting.organization, waiting.project, waiting.form_id)
        ORDER BY organization, project, form_id LIMIT 1) AS next
    )
    SELECT partition, organization, project, form_id AS "formId" FROM waiting`)
  return forms.flatMap((form) => {
    const project = catalog.project(form.organization, form.project)
    const isEnabled = project && compileForms(project.config).byId.get(form.formId)?.isEnabled
    // Of an organization that the catalog does not hold, this is 0: nothing was queued under it.
    return isEnabled ? [] : { ...form, revision: catalog.revision(form.organization) }
  })
}

/** One query for each index: an `OR` over them would read the whole table. */
async function readDueRows(
  db: Db,
  { instant, removed, partition }: { instant: Date; removed: readonly RemovedForm[]; partition: number },
): Promise<readonly DueRow[]> {
  const rows = await db.$queryRaw<(StoredQueueRow & Pick<DueRow, 'isOfRemovedForm'>)[]>(sql`
    (SELECT ${QUEUE_COLUMNS}, false AS "isOfRemovedForm" FROM queue
     WHERE partition = ${partition} AND ${overdue(instant)}
     LIMIT ${MAX_ROWS_A_TICK})
    UNION ALL
    (SELECT ${QUEUE_COLUMNS}, false FROM queue
     WHERE partition = ${partition} AND ${expired(instant)}
     LIMIT ${MAX_ROWS_A_TICK})
    UNION ALL
    (SELECT ${QUEUE_COLUMNS}, true FROM queue
     JOIN unnest(
       ${removed.map((form) => form.organization)}::text[],
       ${removed.map((form) => form.project)}::text[],
       ${removed.map((form) => form.formId)}::text[],
       ${removed.map((form) => form.revision)}::int[]
     ) AS removed (organization, project, form_id, revision) USING (organization, project, form_id)
     WHERE partition = ${partition} AND state = 'waiting' AND catalog_revision <= removed.revision
       AND (expires_at IS NULL OR expires_at > ${instant.toISOString()}::timestamptz)
     LIMIT ${MAX_ROWS_A_TICK})`)
  return rows.map(({ isOfRemovedForm, ...row }) => ({ row: toQueueRow(row), isOfRemovedForm }))
}

/** An offer that was not confirmed in time. */
function overdue(instant: Date): Statement {
  const offeredUntil = new Date(instant.getTime() - OFFER_HOLDS_MS).toISOString()
  return sql`state = 'offered' AND offered_at <= ${offeredUntil}::timestamptz`
}

function expired(instant: Date): Statement {
  return sql`state = 'waiting' AND expires_at <= ${instant.toISOString()}::timestamptz`
}
