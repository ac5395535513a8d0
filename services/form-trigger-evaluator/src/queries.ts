import {
  FormsReadModel,
  MAX_QUEUED_FORMS,
  type OpenCountsAnswer,
  type OpenCountsQuery,
  OpenFormRow,
  type OpenRowsAnswer,
  type OpenRowsQuery,
  type QueueAnswer,
  type QueueRow,
  type QueuedForm,
  type TriggerCountsAnswer,
  type TriggerCountsQuery,
  type UserRef,
  type WaitingForm,
} from '@nextvisit/contracts'
import { type Db, type RowOf, sql, type Sql } from '@nextvisit/database'
import { compileTrigger, isoInstant, type MissedOccurrence } from '@nextvisit/domain'
import type { z } from 'zod'
import { toHistory } from './load-draft.ts'
import { toQueueRow } from './queue-rows.ts'
import { decisions, eventOccurrences, queues } from './tables.ts'

/** Reads the waiting forms of a user, in the order in which visits take them. An offered form does not wait. */
export async function readQueue(db: Db, user: UserRef): Promise<z.infer<typeof QueueAnswer>> {
  const waiting = await readOpen(db, user, sql`state = 'waiting'`)
  return { waiting: waiting.map((row) => toWaitingForm(toQueueRow(row))) }
}

/** Reads the decisions on a user's forms, and the user's queue; undefined if no identify was folded. */
export async function readForms(db: Db, user: UserRef): Promise<FormsReadModel | undefined> {
  const [stored, decided, rows] = await Promise.all([
    readTimes(db, user),
    decisions.select(db, sql`FROM decisions WHERE ${isOf(user)} ORDER BY form_id`),
    readLatest(db, user),
  ])
  // A user without an identify, whose events were admitted unchecked, has no first seen.
  if (!stored?.firstSeenAt) return undefined
  return FormsReadModel.parse({
    forms: decided.map(toDecision),
    queue: rows.map((row) => toQueuedForm(toQueueRow(row))),
  })
}

function isOf({ organization, project, userId }: UserRef): Sql {
  return sql`organization = ${organization} AND project = ${project} AND user_id = ${userId}::uuid`
}

/** Reads instants of a user, without the traits, which may be long. */
async function readTimes(db: Db, user: UserRef) {
  const [found] = await db.$queryRaw<{ firstSeenAt: Date | null; sessionStartedAt: Date | null }[]>(sql`
    SELECT first_seen_at AS "firstSeenAt", session_started_at AS "sessionStartedAt" FROM users WHERE ${isOf(user)}`)
  return found
}

function readOpen(db: Db, user: UserRef, state: Sql): Promise<RowOf<typeof queues>[]> {
  return queues.select(
    db,
    sql`FROM queue WHERE ${isOf(user)} AND ${state} ORDER BY priority DESC, queue.queued_at, form_id`,
  )
}

/** Reads open rows in the order in which visits take them, then closed rows, the latest first. */
async function readLatest(db: Db, user: UserRef): Promise<RowOf<typeof queues>[]> {
  const open = await readOpen(db, user, sql`state IN ('waiting', 'offered')`)
  const closed = await queues.select(
    db,
    sql`FROM queue WHERE ${isOf(user)} AND state NOT IN ('waiting', 'offered')
      ORDER BY queue.queued_at DESC, form_id LIMIT ${Math.max(0, MAX_QUEUED_FORMS - open.length)}`,
  )
  return [...open, ...closed]
}

function toWaitingForm({ id: queuedId, formId, queuedAt, showFrom, expiresAt, priority }: QueueRow): WaitingForm {
  return { queuedId, formId, state: 'waiting', queuedAt, showFrom, expiresAt, priority }
}

function toQueuedForm(row: QueueRow): QueuedForm {
  const { id: queuedId, formId, state, queuedAt, showFrom, expiresAt, offeredAt } = row
  const times = { queuedAt, showFrom, expiresAt, offeredAt, deliveredAt: row.shownAt }
  const { answerStatus, startedAt, endedAt } = row
  return { queuedId, formId, state, ...times, answerStatus, startedAt, endedAt, requestId: row.causeId }
}

function toDecision(row: RowOf<typeof decisions>): object {
  const { formId, outcome, recordId, decidedAt, catalogRevision, trigger, gates } = row
  const isQueued = outcome === 'queued'
  return {
    formId,
    decision: isQueued ? 'queued' : 'not-queued',
    ...(isQueued ? {} : { reason: outcome }),
    at: decidedAt,
    requestId: recordId,
    ...(trigger === null ? {} : { trigger: JSON.parse(trigger) }),
    catalogRevision,
    gates: JSON.parse(gates),
  }
}

/**
 * Counts a user's progress with each of these triggers at `nowMs`, by the rules of an evaluation, and reads the last
 * occurrence that counted but triggered nothing.
 */
export async function readTriggerCounts(
  db: Db,
  { organization, project, userId, triggers }: TriggerCountsQuery,
  nowMs: number,
): Promise<TriggerCountsAnswer> {
  const user = { organization, project, userId }
  const compiled = triggers.map(compileTrigger)
  const keys = [...new Set(compiled.flatMap(({ countKey }) => countKey ?? []))]
  const [stored, rows] = await Promise.all([
    readTimes(db, user),
    eventOccurrences.selectByKeys(
      db,
      keys.map((slug) => ({ ...user, slug })),
    ),
  ])
  const activity = {
    sessionStartedAt: stored?.sessionStartedAt?.getTime(),
    events: new Map(rows.map((row) => [row.slug, toHistory(row)])),
  }
  return {
    counts: compiled.map(({ countSoFar }) => countSoFar?.(activity, nowMs) ?? null),
    missed: compiled.map(({ countKey }) => toMissed(activity.events.get(countKey ?? '')?.missed)),
  }
}

function toMissed(missed: MissedOccurrence | undefined): TriggerCountsAnswer['missed'][number] {
  return missed ? { at: isoInstant(missed.occurredAt), receivedAt: isoInstant(missed.received) } : null
}

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
