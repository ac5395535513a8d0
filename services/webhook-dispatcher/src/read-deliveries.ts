import {
  type AttemptOutcome,
  type DeliveriesQuery,
  type DeliveryQuery,
  DeliveryStatus,
  type WebhookAttempt,
  type WebhookDeliveries,
  type WebhookDelivery,
  type WebhookDeliveryDetail,
  type WebhookType,
} from '@nextvisit/contracts'
import { type Db, sql, type Sql } from '@nextvisit/database'
import { LIVE_STREAM } from '@nextvisit/domain'
import { isOfEndpoint } from './tables.ts'

/** Number of attempts that a delivery lists: those of several retries. */
const LISTED_ATTEMPTS = 100

interface DeliveryRow {
  readonly deliveryId: string
  readonly webhookId: string
  readonly type: WebhookType
  readonly userId: string
  readonly replayId: string
  readonly status: DeliveryStatus
  readonly attempts: number
  readonly at: Date
  readonly createdAt: Date
  readonly endedAt: Date | null
  /** null: it is not the turn of the delivery. */
  readonly nextAttemptAt: Date | null
  readonly lastAttempt: AttemptRow | null
}

/** Times are ISO text or those of JSON. */
interface AttemptRow {
  readonly at: string
  readonly durationMs: number
  readonly outcome: AttemptOutcome
  readonly httpStatus: number | null
  readonly error: string | null
  readonly response?: string | null
}

/** Reads a page of the deliveries of an endpoint, newest first. */
export async function readDeliveries(db: Db, query: DeliveriesQuery): Promise<Omit<WebhookDeliveries, 'stale'>> {
  const { organization, project, endpointId, status, userId, limit, after } = query
  const [createdAt, deliveryId] = after?.split('_') ?? []
  const isAfter =
    createdAt && deliveryId
      ? sql`(created_at, delivery_id) < (${createdAt}::timestamptz, ${deliveryId}::uuid)`
      : sql`TRUE`
  const newest = (where: Sql) => sql`
    SELECT * FROM deliveries WHERE ${where} AND ${isAfter} ORDER BY created_at DESC, delivery_id DESC LIMIT ${limit + 1}`
  const statuses = status ? [status] : DeliveryStatus.options
  const ofUser = () =>
    newest(sql`(organization, project, user_id) = (${organization}, ${project}, ${userId}::uuid)
      AND endpoint_id = ${endpointId} AND status = ANY(${statuses}::text[])`)
  // The index of an endpoint has its deliveries by status.
  const ofStatuses = () =>
    newest(sql`delivery_id IN (SELECT delivery_id FROM unnest(${statuses}::text[]) AS asked (status), LATERAL (
      ${newest(sql`${isOfEndpoint(query)} AND deliveries.status = asked.status`)}
    ) AS own)`)
  const rows = await readRows(db, userId === undefined ? ofStatuses() : ofUser())
  const page = rows.slice(0, limit)
  const last = page.at(-1)
  return {
    deliveries: page.map((row) => ({
      ...deliveryOf(row),
      ...(row.lastAttempt && { lastAttempt: attemptOf(row.lastAttempt) }),
    })),
    next: rows.length > limit && last ? `${last.createdAt.toISOString()}_${last.deliveryId}` : null,
  }
}

/** Reads these rows of deliveries, newest first, with their last attempts, and when the next one is due. */
function readRows(db: Db, own: Sql): Promise<readonly DeliveryRow[]> {
  return db.$queryRaw<DeliveryRow[]>(sql`
    SELECT own.delivery_id AS "deliveryId", own.webhook_id AS "webhookId", own.type, own.user_id AS "userId",
      own.replay_id AS "replayId", own.status, own.attempts, own.at, own.created_at AS "createdAt",
      own.ended_at AS "endedAt", CASE WHEN turn.next_at IS NOT NULL THEN greatest(turn.next_at, own.created_at) END AS "nextAttemptAt",
      (
        SELECT json_build_object('at', last.at, 'durationMs', last.duration_ms, 'outcome', last.outcome,
          'httpStatus', last.http_status, 'error', last.error)
        FROM attempts AS last WHERE last.delivery_id = own.delivery_id ORDER BY number DESC LIMIT 1
      ) AS "lastAttempt"
    FROM (${own}) AS own
    LEFT JOIN turns AS turn
      ON own.status = 'pending'
        AND (turn.organization, turn.project, turn.user_id, turn.endpoint_id, turn.replay_id)
          = (own.organization, own.project, own.user_id, own.endpoint_id, own.replay_id)
        AND NOT EXISTS (
          SELECT FROM deliveries AS earlier
          WHERE (earlier.organization, earlier.project, earlier.endpoint_id, earlier.replay_id, earlier.user_id)
              = (own.organization, own.project, own.endpoint_id, own.replay_id, own.user_id)
            AND earlier.status = 'pending' AND earlier.source_offset < own.source_offset
        )
        AND NOT EXISTS (
          SELECT FROM endpoints AS health
          WHERE (health.organization, health.project, health.endpoint_id)
              = (own.organization, own.project, own.endpoint_id)
            AND health.disabled_at IS NOT NULL AND own.type <> 'webhook.test'
        )
    ORDER BY own.created_at DESC, own.delivery_id DESC`)
}

function deliveryOf(row: DeliveryRow): Omit<WebhookDelivery, 'lastAttempt'> {
  const { deliveryId, webhookId, type, userId, replayId, status, attempts, at, createdAt, endedAt, nextAttemptAt } = row
  return {
    deliveryId,
    webhookId,
    type,
    ...(type !== 'webhook.test' && { userId }),
    ...(replayId !== LIVE_STREAM && { replayId }),
    status,
    attempts,
    timestamp: at.toISOString(),
    createdAt: createdAt.toISOString(),
    ...(endedAt && { endedAt: endedAt.toISOString() }),
    ...(nextAttemptAt && { nextAttemptAt: nextAttemptAt.toISOString() }),
  }
}

function attemptOf({ at, durationMs, outcome, httpStatus, error, response }: AttemptRow): WebhookAttempt {
  return {
    at: new Date(at).toISOString(),
    durationMs,
    outcome,
    ...(httpStatus !== null && { httpStatus }),
    ...(error !== null && { error }),
    ...(response !== null && response !== undefined && { response }),
  }
}

/** Reads a delivery of an endpoint, with what was sent and the attempts. undefined: the endpoint has no such delivery. */
export async function readDelivery(db: Db, query: DeliveryQuery): Promise<WebhookDeliveryDetail | undefined> {
  const { deliveryId } = query
  const [row] = await readRows(
    db,
    sql`SELECT * FROM deliveries WHERE delivery_id = ${deliveryId}::uuid AND ${isOfEndpoint(query)}`,
  )
  if (!row) return undefined
  const [sent] = await db.$queryRaw<{ readonly body: string }[]>(
    sql`SELECT body FROM deliveries WHERE delivery_id = ${deliveryId}::uuid AND cardinality(capture) = 0`,
  )
  const attempts = await db.$queryRaw<AttemptRow[]>(sql`
    SELECT at::text, duration_ms AS "durationMs", outcome, http_status AS "httpStatus", error, response FROM attempts
    WHERE delivery_id = ${deliveryId}::uuid ORDER BY number DESC LIMIT ${LISTED_ATTEMPTS}`)
  return {
    ...deliveryOf(row),
    ...(sent && { body: sent.body }),
    attemptLog: attempts.toReversed().map(attemptOf),
  }
}
