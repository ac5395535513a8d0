import type { CatalogView } from '@nextvisit/catalog'
import { type Db, sql, type Statement } from '@nextvisit/database'
import { compileForms, OFFER_HOLDS_MS } from '@nextvisit/domain'
import type { FoldContext } from '@nextvisit/projection'
import { formFactsToOutbox } from './form-fact-outbox.ts'
import { formFactOf, isOpen, lapsed, type OpenRow, type QueueRow } from './queue-row.ts'
import { QUEUE_COLUMNS, type StoredQueueRow, toQueueRow, updateQueueRows } from './queue-rows.ts'

/** Of each kind. The rest waits for the next tick. */
const MAX_ROWS_A_TICK = 1_000

/** A form that has waiting rows, but that the workspace no longer has or has disabled. */
interface GoneForm {
  readonly organization: string
  readonly project: string
  readonly formId: string
  /** Of the catalog that says so. Rows queued under a later one are somebody's who knew better. */
  readonly revision: number
}

/**
 * What time and the workspace do to a partition's open rows (forms.md, The queue): an offer that was not confirmed waits
 * again, what is due expires, and rows of a form that was removed or disabled are cancelled.
 */
export async function tickQueue(db: Db, instant: Date, context: FoldContext): Promise<readonly Statement[]> {
  if (context.isRebuild) return []
  const gone = await readGoneForms(db, context)
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
  return [
    ...(changed.length > 0 ? [updateQueueRows(changed)] : []),
    ...(facts.length > 0 ? [formFactsToOutbox(facts)] : []),
  ]
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
async function readGoneForms(db: Db, { catalog, partition }: FoldContext): Promise<GoneForm[]> {
  const forms = await db.$queryRaw<Omit<GoneForm, 'revision'>[]>(sql`
    WITH RECURSIVE waiting AS (
      (SELECT organization, project, form_id FROM queue
       WHERE partition = ${partition} AND state = 'waiting'
       ORDER BY organization, project, form_id LIMIT 1)
      UNION ALL
      SELECT next.* FROM waiting, LATERAL (
        SELECT organization, project, form_id FROM queue
        WHERE partition = ${partition} AND state = 'waiting'
          AND (queue.organization, queue.project, queue.form_id)
            > (waiting.organization, waiting.project, waiting.form_id)
        ORDER BY organization, project, form_id LIMIT 1) AS next
    )
    SELECT organization, project, form_id AS "formId" FROM waiting`)
  return forms.flatMap((form) => goneIn(catalog, form) ?? [])
}

/** A project that the catalog does not hold says nothing: the catalog may be the one that is behind. */
function goneIn(catalog: CatalogView, form: Omit<GoneForm, 'revision'>): GoneForm | undefined {
  const project = catalog.project(form.organization, form.project)
  if (!project || compileForms(project.config).byId.get(form.formId)?.isEnabled) return undefined
  return { ...form, revision: project.revision }
}

/** One question an index: an `OR` over them would read the whole table. */
async function readDueRows(
  db: Db,
  { instant, gone, partition }: { instant: Date; gone: readonly GoneForm[]; partition: number },
): Promise<OpenRow[]> {
  const now = instant.toISOString()
  const offeredUntil = new Date(instant.getTime() - OFFER_HOLDS_MS).toISOString()
  const rows = await db.$queryRaw<StoredQueueRow[]>(sql`
    (SELECT ${QUEUE_COLUMNS} FROM queue
     WHERE partition = ${partition} AND state = 'offered' AND offered_at <= ${offeredUntil}::timestamptz
     LIMIT ${MAX_ROWS_A_TICK})
    UNION ALL
    (SELECT ${QUEUE_COLUMNS} FROM queue
     WHERE partition = ${partition} AND state = 'waiting' AND expires_at <= ${now}::timestamptz
     LIMIT ${MAX_ROWS_A_TICK})
    UNION ALL
    (SELECT ${QUEUE_COLUMNS} FROM queue
     JOIN unnest(
       ${gone.map((form) => form.organization)}::text[],
       ${gone.map((form) => form.project)}::text[],
       ${gone.map((form) => form.formId)}::text[]
     ) AS gone (organization, project, form_id) USING (organization, project, form_id)
     WHERE partition = ${partition} AND state = 'waiting'
       AND (expires_at IS NULL OR expires_at > ${now}::timestamptz)
     LIMIT ${MAX_ROWS_A_TICK})`)
  return rows.map(toQueueRow).filter(isOpen)
}
