import type { CatalogReview, CatalogView, ReviewScope } from '@nextvisit/catalog'
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
  settledAt,
} from '@nextvisit/domain'
import { type DueContext, outboxStatements, type TickContext } from '@nextvisit/projection'
import { outboxRowsOf, toQueueRow, writeQueues } from './queue-rows.ts'
import { queues } from './tables.ts'

/** For each kind of row. The next tick takes the rest. */
const MAX_ROWS_A_TICK = 1_000

/** A form that has open rows in a partition. */
interface FormOfPartition extends ProjectRef {
  readonly partition: number
  readonly formId: string
}

/** A form that the workspace has disabled or no longer has, alone or with its project or organization. */
interface RemovedForm extends FormOfPartition {
  /** Of the catalog that says so. A row queued under a later one is left to an evaluator that knows that catalog. */
  readonly catalogRevision: number
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
  review: CatalogReview,
): Promise<readonly number[]> {
  const asOf = settledAt(instant)
  const owned = await db.$queryRaw<{ partition: number; table: bigint; isDue: boolean }[]>(sql`
    SELECT owned.partition, 'queue'::regclass::oid::bigint AS "table",
      EXISTS (SELECT FROM queue WHERE queue.partition = owned.partition AND ${overdue(asOf)})
      OR EXISTS (SELECT FROM queue WHERE queue.partition = owned.partition AND ${expired(asOf)}) AS "isDue"
    FROM unnest(${partitions}::int[]) AS owned (partition)`)
  const scopes = review.begin(catalog, partitions, owned[0]?.table)
  const removed = await readRemovedForms(db, scopes, catalog)
  review.settle(scopes, removed)
  return [...owned.filter(({ isDue }) => isDue), ...removed].map(({ partition }) => partition)
}

/**
 * What time and the workspace do to a partition's open rows (forms.md, The queue): an offer that was not confirmed waits
 * again, what is due expires, and rows of a form that was removed or disabled are cancelled. Time is that of five seconds
 * ago: a visit that was received before is in the log by now.
 */
export async function tickQueue(
  db: Db,
  instant: Date,
  { partition, catalog, isRebuild }: TickContext,
  review: CatalogReview,
): Promise<readonly Statement[]> {
  if (isRebuild) return []
  const asOf = settledAt(instant)
  const removed = await readRemovedForms(db, review.scopesOf(partition), catalog)
  const due = await readDueRows(db, { asOf, removed, partition })
  const moments = { asOf: momentOf(asOf.toISOString()), now: momentOf(instant.toISOString()) }
  const changes = due.map((one) => tickRow(one, moments))
  const facts = changes.flatMap((change) => change.facts.map((fact) => ({ fact, partition })))
  return [
    ...writeQueues({ updated: changes.flatMap(({ queue }) => [...queue.rows.values()]) }),
    ...outboxStatements(outboxRowsOf(facts)),
  ]
}

/** A row alone is as much of its queue as this needs. */
function tickRow(
  { row, isOfRemovedForm }: DueRow,
  { asOf, now }: { readonly asOf: Moment; readonly now: Moment },
): QueueChange {
  const queue = queueOf([row])
  return isOfRemovedForm && isOpen(row) ? cancel(queue, row, now) : expireDue(queue, asOf)
}

/** Not before any id of an organization, whatever the database's order of texts is. */
const LAST_ORGANIZATION = 'z'.repeat(64)

/** Goes from form to form through the index, so that it costs the same whether ten rows wait or a million. */
async function readRemovedForms(
  db: Db,
  scopes: readonly ReviewScope[],
  catalog: CatalogView,
): Promise<readonly RemovedForm[]> {
  if (scopes.length === 0) return []
  const partitions = scopes.map(({ partition }) => partition)
  const firsts = scopes.map(({ organization }) => organization ?? '')
  const lasts = scopes.map(({ organization }) => organization ?? LAST_ORGANIZATION)
  const forms = await db.$queryRaw<FormOfPartition[]>(sql`
    WITH RECURSIVE open AS (
      SELECT first.*, scope.last FROM
      unnest(${partitions}::int[], ${firsts}::text[], ${lasts}::text[]) AS scope (partition, first, last), LATERAL (
        SELECT partition, organization, project, form_id FROM queue
        WHERE queue.partition = scope.partition AND state IN ('waiting', 'offered')
          AND queue.organization >= scope.first AND queue.organization <= scope.last
        ORDER BY organization, project, form_id LIMIT 1) AS first
      UNION ALL
      SELECT next.*, open.last FROM open, LATERAL (
        SELECT partition, organization, project, form_id FROM queue
        WHERE queue.partition = open.partition AND state IN ('waiting', 'offered') AND queue.organization <= open.last
          AND (queue.organization, queue.project, queue.form_id) > (open.organization, open.project, open.form_id)
        ORDER BY organization, project, form_id LIMIT 1) AS next
    )
    SELECT partition, organization, project, form_id AS "formId" FROM open`)
  return forms.flatMap((form) => {
    const project = catalog.project(form.organization, form.project)
    const isEnabled = project && compileForms(project.config).byId.get(form.formId)?.isEnabled
    // Of an organization that the catalog does not hold, this is 0: nothing was queued under it.
    return isEnabled ? [] : { ...form, catalogRevision: catalog.revision(form.organization) }
  })
}

/** One query for each index: an `OR` over them would read the whole table. */
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
       SELECT queue.* FROM queue JOIN ${forms} USING (organization, project, form_id)
       WHERE partition = ${partition} AND state = 'waiting' AND queue.catalog_revision <= removed.catalog_revision
         AND (expires_at IS NULL OR expires_at > ${asOf.toISOString()}::timestamptz)
       LIMIT ${MAX_ROWS_A_TICK}) AS queue)`)
  return rows.map(({ isOfRemovedForm, ...row }) => ({ row: toQueueRow(queues.parse(row)), isOfRemovedForm }))
}

/** An offer that was not confirmed in time. */
function overdue(instant: Date): Statement {
  const offeredUntil = new Date(instant.getTime() - OFFER_HOLDS_MS).toISOString()
  return sql`state = 'offered' AND offered_at <= ${offeredUntil}::timestamptz`
}

function expired(instant: Date): Statement {
  return sql`state = 'waiting' AND expires_at <= ${instant.toISOString()}::timestamptz`
}
