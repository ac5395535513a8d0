import {
  type OpenCountsAnswer,
  type OpenCountsQuery,
  OpenFormRow,
  type OpenRowsAnswer,
  type OpenRowsQuery,
} from '@nextvisit/contracts'
import { type Db, sql, type Sql } from '@nextvisit/database'
import { queues } from './tables.ts'

/** The index of open rows begins with the partition. */
const PARTITIONS = sql`(SELECT DISTINCT partition AS number FROM checkpoints) AS known`

function openOf(organization: string, project: string, formId: Sql): Sql {
  return sql`queue.partition = known.number AND queue.organization = ${organization} AND queue.project = ${project}
    AND queue.form_id = ${formId} AND queue.state IN ('waiting', 'offered')`
}

/**
 * Counts the users that these forms wait for, and reads when the oldest row was queued. The cost follows the count, not the
 * table: the counted rows are ordered, so that Postgres uses the index even if most rows of the queue are of one form.
 */
export async function readOpenCounts(
  db: Db,
  { organization, project, formIds, countUpTo }: OpenCountsQuery,
): Promise<OpenCountsAnswer> {
  const open = openOf(organization, project, sql`asked.form_id`)
  const limit = countUpTo + 1
  const rows = await db.$queryRaw<{ count: number; oldestAt: Date | null }[]>(sql`
    SELECT counted.count, oldest.at AS "oldestAt"
    FROM unnest(${formIds}::text[]) WITH ORDINALITY AS asked (form_id, nth),
    LATERAL (SELECT count(*)::int AS count FROM (
      SELECT FROM ${PARTITIONS}, LATERAL (
        SELECT FROM queue WHERE ${open} ORDER BY queued_at LIMIT ${limit}) AS own
      LIMIT ${limit}) AS first) AS counted,
    LATERAL (SELECT min(first.queued_at) AS at FROM ${PARTITIONS}, LATERAL (
      SELECT queued_at FROM queue WHERE ${open} ORDER BY queued_at LIMIT 1) AS first) AS oldest
    ORDER BY nth`)
  return {
    forms: rows.map(({ count, oldestAt }) => ({
      count: Math.min(count, countUpTo),
      isMore: count > countUpTo,
      oldestAt: oldestAt?.toISOString() ?? null,
    })),
  }
}

/** Reads the users that a form waits for, the oldest row first. */
export async function readOpenRows(
  db: Db,
  { organization, project, formId, limit, after }: OpenRowsQuery,
): Promise<OpenRowsAnswer> {
  const open = openOf(organization, project, sql`${formId}`)
  const behind = after
    ? sql`AND (queue.queued_at, queue.id) > (${after.queuedAt}::timestamptz, ${after.queuedId}::uuid)`
    : sql``
  const rows = await db.$queryRaw<object[]>(sql`
    SELECT ${queues.columns} FROM ${PARTITIONS}, LATERAL (
      SELECT * FROM queue WHERE ${open} ${behind} ORDER BY queued_at, id LIMIT ${limit + 1}) AS queue
    ORDER BY queue.queued_at, queue.id LIMIT ${limit + 1}`)
  const page = rows.slice(0, limit).map((row) => toOpenRow(queues.parse(row)))
  const last = rows.length > limit ? page.at(-1) : undefined
  return { rows: page, next: last ? { queuedAt: last.queuedAt, queuedId: last.queuedId } : null }
}

function toOpenRow({ id: queuedId, userId, state, queuedAt, showFrom, expiresAt }: ReturnType<typeof queues.parse>) {
  return OpenFormRow.parse({ queuedId, userId, state, queuedAt, showFrom, expiresAt })
}
