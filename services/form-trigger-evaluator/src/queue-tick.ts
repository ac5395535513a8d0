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
import { type StepTaken, stepOf } from './form-steps.ts'
import { outboxRowsOf, toQueueRow, writeQueues } from './queue-rows.ts'
import { queues } from './tables.ts'

/** For each kind of row. The next tick takes the rest. */
const MAX_ROWS_A_TICK = 1_000
/** Forms that one query compares with the catalog. */
const FORMS_A_PAGE = 1_000
/** When all organizations of a partition are compared. The next tick goes on behind them. */
const PAGES_A_TICK = 10

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

/** Those of these partitions that have rows for {@link tickQueue}: a few queries, however many partitions there are. */
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
  const { scopes, needTick } = review.begin(catalog, partitions, owned[0]?.table)
  const removed = await findRemovedForms(db, scopes, catalog, review)
  return [...[...owned.filter(({ isDue }) => isDue), ...removed].map(({ partition }) => partition), ...needTick]
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
): Promise<Ticked> {
  if (isRebuild) return { statements: [], steps: [] }
  const asOf = settledAt(instant)
  const removed = await findRemovedForms(db, review.beginTick(partition), catalog, review)
  const due = await readDueRows(db, { asOf, removed, partition })
  const moments = { asOf: momentOf(asOf.toISOString()), now: momentOf(instant.toISOString()) }
  const changes = due.map((one) => tickRow(one, moments))
  const facts = changes.flatMap((change) => change.facts.map((fact) => ({ fact, partition })))
  return {
    statements: [
      ...writeQueues({ updated: changes.flatMap(({ queue }) => [...queue.rows.values()]) }),
      ...outboxStatements(outboxRowsOf(facts)),
    ],
    steps: facts.map(({ fact }) => stepOf(fact)),
  }
}

/** What a tick writes, and what becomes of forms by it. */
interface Ticked {
  readonly statements: readonly Statement[]
  readonly steps: readonly StepTaken[]
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

/**
 * The forms with open rows that the workspace has disabled or no longer has. All of an organization that has changed; of the
 * first look at a partition only as much as a tick may cost. Of the rest the review knows where to go on.
 */
async function findRemovedForms(
  db: Db,
  scopes: readonly ReviewScope[],
  catalog: CatalogView,
  review: CatalogReview,
): Promise<readonly RemovedForm[]> {
  const removed: RemovedForm[] = []
  const see = (forms: readonly FormOfPartition[]): void => {
    for (const form of forms) if (!isEnabled(catalog, form)) removed.push(removedForm(catalog, form))
  }
  const whole = scopes.filter(({ organization }) => organization === undefined)
  const changed = scopes.filter(({ organization }) => organization !== undefined)
  await readPages(db, changed, Infinity, see)
  const unfinished = await readPages(db, whole, PAGES_A_TICK, see)
  review.settle(scopes, removed, unfinished)
  return removed
}

function isEnabled(catalog: CatalogView, { organization, project, formId }: FormOfPartition): boolean {
  const found = catalog.project(organization, project)
  return (found && compileForms(found.config).byId.get(formId)?.isEnabled) ?? false
}

function removedForm(catalog: CatalogView, form: FormOfPartition): RemovedForm {
  // Of an organization that the catalog does not hold, this is 0: nothing was queued under it.
  return { ...form, catalogRevision: catalog.revision(form.organization) }
}

/** Reads at most so many pages, and returns the scopes that have more. */
async function readPages(
  db: Db,
  scopes: readonly ReviewScope[],
  maxPages: number,
  see: (forms: readonly FormOfPartition[]) => void,
): Promise<readonly ReviewScope[]> {
  let rest = scopes
  for (let page = 0; page < maxPages && rest.length > 0; page += 1) {
    const asked = rest.slice(0, FORMS_A_PAGE)
    const formsEach = Math.floor(FORMS_A_PAGE / asked.length)
    const forms = await readOpenForms(db, asked, formsEach)
    see(forms)
    const lastOnes = new Map(forms.flatMap(({ scope, step, ...form }) => (step === formsEach ? [[scope, form]] : [])))
    const more = asked.flatMap((scope, nth) => {
      const last = lastOnes.get(nth)
      return last ? { ...scope, after: [last.organization, last.project, last.formId] } : []
    })
    rest = [...more, ...rest.slice(FORMS_A_PAGE)]
  }
  return rest
}

interface OpenForm extends FormOfPartition {
  /** The place of its scope in the question. */
  readonly scope: number
  /** From 1, in the order of the index. */
  readonly step: number
}

/**
 * The next forms with open rows of each scope, at most `formsEach`. Goes from form to form through the index, so that it
 * costs the same whether ten rows wait or a million.
 */
async function readOpenForms(db: Db, scopes: readonly ReviewScope[], formsEach: number): Promise<readonly OpenForm[]> {
  const partitions = scopes.map(({ partition }) => partition)
  const lasts = scopes.map(({ organization }) => organization ?? LAST_ORGANIZATION)
  const afters = scopes.map(({ organization = '', after = [organization, '', ''] }) => after)
  return db.$queryRaw<OpenForm[]>(sql`
    WITH RECURSIVE open AS (
      SELECT first.*, scope.last, scope.nth, 1 AS step FROM
      unnest(
        ${partitions}::int[], ${lasts}::text[], ${afters.map(([organization]) => organization)}::text[],
        ${afters.map(([, project]) => project)}::text[], ${afters.map(([, , form]) => form)}::text[]
      ) WITH ORDINALITY AS scope (partition, last, organization, project, form_id, nth), LATERAL (
        SELECT partition, organization, project, form_id FROM queue
        WHERE queue.partition = scope.partition AND state IN ('waiting', 'offered') AND queue.organization <= scope.last
          AND (queue.organization, queue.project, queue.form_id) > (scope.organization, scope.project, scope.form_id)
        ORDER BY organization, project, form_id LIMIT 1) AS first
      UNION ALL
      SELECT next.*, open.last, open.nth, open.step + 1 FROM open, LATERAL (
        SELECT partition, organization, project, form_id FROM queue
        WHERE queue.partition = open.partition AND state IN ('waiting', 'offered') AND queue.organization <= open.last
          AND (queue.organization, queue.project, queue.form_id) > (open.organization, open.project, open.form_id)
        ORDER BY organization, project, form_id LIMIT 1) AS next
      WHERE open.step < ${formsEach}::int
    )
    SELECT partition, organization, project, form_id AS "formId", nth::int - 1 AS scope, step FROM open`)
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
       SELECT own.* FROM ${forms}, LATERAL (
         SELECT * FROM queue
         WHERE partition = ${partition} AND state = 'waiting' AND queue.catalog_revision <= removed.catalog_revision
           AND (queue.organization, queue.project, queue.form_id) = (removed.organization, removed.project, removed.form_id)
           AND (expires_at IS NULL OR expires_at > ${asOf.toISOString()}::timestamptz)
         LIMIT ${MAX_ROWS_A_TICK}) AS own
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
