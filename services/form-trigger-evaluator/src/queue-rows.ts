import { sql, type Statement } from '@nextvisit/database'
import type { QueueRow } from './queue-row.ts'

/** A column's instant: a date in a row, ISO text in JSON. */
type Instant = Date | string

/** A row of `queue` as {@link QUEUE_COLUMNS} brings it, alone or in JSON. */
export type StoredQueueRow = {
  readonly organization: string
  readonly project: string
  readonly userId: string
  readonly id: string
  readonly formId: string
  readonly state: QueueRow['state']
  readonly priority: bigint | number
  readonly queuedAt: Instant
  readonly showFrom: Instant
  readonly expiresAt: Instant | null
  readonly offeredAt: Instant | null
  readonly shownAt: Instant | null
  readonly visitId: string | null
  readonly causeId: string
  readonly catalogRevision: number
  readonly partition: number
}

export const QUEUE_COLUMNS = sql`
  organization, project, user_id AS "userId", id, form_id AS "formId", state, priority, queued_at AS "queuedAt",
  show_from AS "showFrom", expires_at AS "expiresAt", offered_at AS "offeredAt", shown_at AS "shownAt",
  visit_id AS "visitId", cause_id AS "causeId", catalog_revision AS "catalogRevision", partition`

export function toQueueRow(row: StoredQueueRow): QueueRow {
  return {
    ...row,
    priority: Number(row.priority),
    queuedAt: toMs(row.queuedAt),
    showFrom: toMs(row.showFrom),
    expiresAt: msOf(row.expiresAt),
    offeredAt: msOf(row.offeredAt),
    shownAt: msOf(row.shownAt),
    visitId: row.visitId ?? undefined,
  }
}

/** What moves: state and its instants. Goes before {@link insertQueueRows}, as a form's slot must be free first. */
export function updateQueueRows(rows: readonly QueueRow[]): Statement {
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
        ${rows.map((row) => isoOf(row.offeredAt))}::timestamptz[],
        ${rows.map((row) => isoOf(row.shownAt))}::timestamptz[],
        ${rows.map((row) => row.visitId ?? null)}::uuid[]
      ) AS given (organization, project, user_id, id, state, offered_at, shown_at, visit_id)
      ORDER BY 1, 2, 3, 4
    ) AS changed
    WHERE (queue.organization, queue.project, queue.user_id, queue.id)
        = (changed.organization, changed.project, changed.user_id, changed.id)`
}

export function insertQueueRows(rows: readonly QueueRow[]): Statement {
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
      ${rows.map((row) => isoOf(row.queuedAt))}::timestamptz[],
      ${rows.map((row) => isoOf(row.showFrom))}::timestamptz[],
      ${rows.map((row) => isoOf(row.expiresAt))}::timestamptz[],
      ${rows.map((row) => isoOf(row.offeredAt))}::timestamptz[],
      ${rows.map((row) => isoOf(row.shownAt))}::timestamptz[],
      ${rows.map((row) => row.visitId ?? null)}::uuid[],
      ${rows.map((row) => row.causeId)}::uuid[],
      ${rows.map((row) => row.catalogRevision)}::int[],
      ${rows.map((row) => row.partition)}::int[]
    )
    ORDER BY 1, 2, 3, 4`
}

export function msOf(instant: Instant | null): number | undefined {
  return instant === null ? undefined : toMs(instant)
}

function toMs(instant: Instant): number {
  return new Date(instant).getTime()
}

export function isoOf(ms: number | undefined): string | null {
  return ms === undefined ? null : new Date(ms).toISOString()
}
