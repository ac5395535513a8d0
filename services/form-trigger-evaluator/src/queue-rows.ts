import { encodeRecord, type FormFact, type QueueRow, TOPICS } from '@nextvisit/contracts'
import { sql, type Statement, unlessEmpty } from '@nextvisit/database'
import { outboxStatements } from '@nextvisit/projection'

/** An instant as a column brings it: a date in a row, text of Postgres in JSON. */
type StoredInstant = Date | string

/** A row of `queue` as {@link QUEUE_COLUMNS} brings it, alone or in JSON, or as Prisma does. */
export type StoredQueueRow = Omit<QueueRow, 'state' | 'priority' | Always | Sometimes> & {
  readonly state: string
  readonly priority: bigint | number
} & Readonly<Record<Always, StoredInstant> & Record<Sometimes, StoredInstant | null>>
type Always = 'queuedAt' | 'showFrom'
type Sometimes = 'expiresAt' | 'offeredAt' | 'shownAt'

/** A row to insert: `partition` of `user-events`, whose owner ticks it. */
export type NewQueueRow = QueueRow & { readonly partition: number }

/** What a batch or a tick changes in queues. */
export interface QueueWrites {
  readonly updated?: readonly QueueRow[]
  readonly inserted?: readonly NewQueueRow[]
  /** For `form-events`, in order. */
  readonly facts?: readonly FormFact[]
}

export const QUEUE_COLUMNS = sql`
  organization, project, user_id AS "userId", id, form_id AS "formId", state, priority, queued_at AS "queuedAt",
  show_from AS "showFrom", expires_at AS "expiresAt", offered_at AS "offeredAt", shown_at AS "shownAt",
  visit_id AS "visitId", cause_id AS "causeId", catalog_revision AS "catalogRevision"`

export function toQueueRow(row: StoredQueueRow): QueueRow {
  return {
    ...row,
    state: row.state as QueueRow['state'],
    priority: Number(row.priority),
    queuedAt: isoOf(row.queuedAt),
    showFrom: isoOf(row.showFrom),
    expiresAt: row.expiresAt && isoOf(row.expiresAt),
    offeredAt: row.offeredAt && isoOf(row.offeredAt),
    shownAt: row.shownAt && isoOf(row.shownAt),
  }
}

/** As `Date.toISOString()` writes it. */
export function isoOf(instant: StoredInstant): string {
  return new Date(instant).toISOString()
}

/** Rows before facts; updated rows before new ones, as the slot of a form must be free first. */
export function writeQueues({ updated = [], inserted = [], facts = [] }: QueueWrites): readonly Statement[] {
  return [...unlessEmpty(updated, updateQueueRows), ...unlessEmpty(inserted, insertQueueRows), ...insertFacts(facts)]
}

/** What a change of a row may change: its state, the instants of that, and the visit. */
function updateQueueRows(rows: readonly QueueRow[]): Statement {
  return sql`
    UPDATE queue SET
      state = changed.state, offered_at = changed.offered_at, shown_at = changed.shown_at, visit_id = changed.visit_id
    FROM (
      SELECT * FROM unnest(
        ${rows.map((row) => row.organization)}::text[],
        ${rows.map((row) => row.project)}::text[],
        ${rows.map((row) => row.userId)}::uuid[],
        ${rows.map((row) => row.id)}::uuid[],
        ${rows.map((row) => row.state)}::text[],
        ${rows.map((row) => row.offeredAt)}::timestamptz[],
        ${rows.map((row) => row.shownAt)}::timestamptz[],
        ${rows.map((row) => row.visitId)}::uuid[]
      ) AS given (organization, project, user_id, id, state, offered_at, shown_at, visit_id)
      ORDER BY 1, 2, 3, 4
    ) AS changed
    WHERE (queue.organization, queue.project, queue.user_id, queue.id)
        = (changed.organization, changed.project, changed.user_id, changed.id)`
}

function insertQueueRows(rows: readonly NewQueueRow[]): Statement {
  return sql`
    INSERT INTO queue
      (organization, project, user_id, id, form_id, state, priority, queued_at, show_from, expires_at, offered_at,
       shown_at, visit_id, cause_id, catalog_revision, partition)
    SELECT * FROM unnest(
      ${rows.map((row) => row.organization)}::text[],
      ${rows.map((row) => row.project)}::text[],
      ${rows.map((row) => row.userId)}::uuid[],
      ${rows.map((row) => row.id)}::uuid[],
      ${rows.map((row) => row.formId)}::text[],
      ${rows.map((row) => row.state)}::text[],
      ${rows.map((row) => row.priority)}::bigint[],
      ${rows.map((row) => row.queuedAt)}::timestamptz[],
      ${rows.map((row) => row.showFrom)}::timestamptz[],
      ${rows.map((row) => row.expiresAt)}::timestamptz[],
      ${rows.map((row) => row.offeredAt)}::timestamptz[],
      ${rows.map((row) => row.shownAt)}::timestamptz[],
      ${rows.map((row) => row.visitId)}::uuid[],
      ${rows.map((row) => row.causeId)}::uuid[],
      ${rows.map((row) => row.catalogRevision)}::int[],
      ${rows.map((row) => row.partition)}::int[]
    )
    ORDER BY 1, 2, 3, 4`
}

/** To `form-events`, in this order. */
function insertFacts(facts: readonly FormFact[]): Statement[] {
  return outboxStatements(
    facts.map((fact) => ({
      topic: TOPICS.formEvents,
      key: fact.userId,
      ...encodeRecord(fact, { source: 'form-trigger-evaluator', time: fact.at }),
    })),
  )
}
