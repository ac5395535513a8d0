import type { CatalogView } from '@nextvisit/catalog'
import { type Db, sql, type Statement, unlessEmpty } from '@nextvisit/database'
import { compileForms, OFFER_HOLDS_MS } from '@nextvisit/domain'
import type { DueContext, FoldContext } from '@nextvisit/projection'
import { formFactsToOutbox } from './form-fact-outbox.ts'
import { formFactOf, isOpen, lapsed, type OpenRow, type QueueRow } from './queue-row.ts'
import { QUEUE_COLUMNS, type StoredQueueRow, toQueueRow, updateQueueRows } from './queue-rows.ts'

/** Of each kind. The rest waits for the next tick. */
const MAX_ROWS_A_TICK = 1_000

/** A form that has rows waiting in a partition. */
interface WaitingForm {
  readonly partition: number
  readonly organization: string
  readonly project: string
  readonly formId: string
}

/** One that the workspace has disabled or no longer has, alone or with its project or organization. */
interface GoneForm extends WaitingForm {
  /** Of the catalog that says so. Rows queued under a later one are somebody's who knew better. */
  readonly revision: number
}

/** Those of these partitions that have rows for {@link tickQueue}: two questions, however many there are. */
export async function findDueQueues(
  db: Db,
  instant: Date,
  { partitions, catalog }: DueContext,
): Promise<readonly number[]> {
  const [due, gone] = await Promise.all([
    db.$queryRaw<{ partition: number }[]>(sql`
      SELECT owned.partition FROM unnest(${partitions}::int[]) AS owned (partition)
      WHERE EXISTS (SELECT FROM queue WHERE queue.partition = owned.partition AND ${overdue(instant)})
         OR EXISTS (SELECT FROM queue WHERE queue.partition = owned.partition AND ${expired(instant)})`),
    readGoneForms(db, partitions, catalog),
  ])
  return [...due, ...gone].map(({ partition }) => partition)
}

/**
 * What time and the workspace do to a partition's open rows (forms.md, The queue): an offer that was not confirmed waits
 * again, what is due expires, and rows of a form that was removed or disabled are cancelled.
 */
export async function tickQueue(db: Db, instant: Date, context: FoldContext): Promise<readonly Statement[]> {
  if (context.isRebuild) return []
  const gone = await readGoneForms(db, [context.partition], context.catalog)
  const rows = await readDueRows(db, { instant, gone, partition: context.partition })
  const changed = rows.flatMap((row) => {
    const next = ticked(row, instant.getTime(), gone)
    return next === row ? [] : next
  })
  const facts = changed.flatMap((row) =>
    row.state === 'expired' || row.state === 'cancelled'
      ? formFactOf({ ...row, state: row.state }, instant.getTime())
      : [],
  )
  return [...unlessEmpty(changed, updateQueueRows), ...formFactsToOutbox(facts)]
}

function ticked(row: OpenRow, instant: number, gone: readonly GoneForm[]): QueueRow {
  const next = lapsed(row, instant)
  return next.state === 'waiting' && gone.some((form) => isOfForm(next, form)) ? { ...next, state: 'cancelled' } : next
}

function isOfForm(row: QueueRow, form: GoneForm): boolean {
  return (
    row.organization === form.organization &&
    row.project === form.project &&
    row.formId === form.formId &&
    row.catalogRevision <= form.revision
  )
}

/** Leaps from form to form through the index, so that it costs the same whether ten rows wait or a million. */
async function readGoneForms(db: Db, partitions: readonly number[], catalog: CatalogView): Promise<GoneForm[]> {
  const forms = await db.$queryRaw<WaitingForm[]>(sql`
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
  return forms.flatMap((form) => goneIn(catalog, form) ?? [])
}

/** An organization that the catalog does not hold is at revision 0, under which nothing was queued: it says nothing. */
function goneIn(catalog: CatalogView, form: WaitingForm): GoneForm | undefined {
  const project = catalog.project(form.organization, form.project)
  if (project && compileForms(project.config).byId.get(form.formId)?.isEnabled) return undefined
  return { ...form, revision: catalog.revision(form.organization) }
}

/** One question an index: an `OR` over them would read the whole table. */
async function readDueRows(
  db: Db,
  { instant, gone, partition }: { instant: Date; gone: readonly GoneForm[]; partition: number },
): Promise<OpenRow[]> {
  const rows = await db.$queryRaw<StoredQueueRow[]>(sql`
    (SELECT ${QUEUE_COLUMNS} FROM queue
     WHERE partition = ${partition} AND ${overdue(instant)}
     LIMIT ${MAX_ROWS_A_TICK})
    UNION ALL
    (SELECT ${QUEUE_COLUMNS} FROM queue
     WHERE partition = ${partition} AND ${expired(instant)}
     LIMIT ${MAX_ROWS_A_TICK})
    UNION ALL
    (SELECT ${QUEUE_COLUMNS} FROM queue
     JOIN unnest(
       ${gone.map((form) => form.organization)}::text[],
       ${gone.map((form) => form.project)}::text[],
       ${gone.map((form) => form.formId)}::text[]
     ) AS gone (organization, project, form_id) USING (organization, project, form_id)
     WHERE partition = ${partition} AND state = 'waiting'
       AND (expires_at IS NULL OR expires_at > ${instant.toISOString()}::timestamptz)
     LIMIT ${MAX_ROWS_A_TICK})`)
  return rows.map(toQueueRow).filter(isOpen)
}

/** An offer that was not confirmed in time. */
function overdue(instant: Date): Statement {
  const offeredUntil = new Date(instant.getTime() - OFFER_HOLDS_MS).toISOString()
  return sql`state = 'offered' AND offered_at <= ${offeredUntil}::timestamptz`
}

function expired(instant: Date): Statement {
  return sql`state = 'waiting' AND expires_at <= ${instant.toISOString()}::timestamptz`
}
