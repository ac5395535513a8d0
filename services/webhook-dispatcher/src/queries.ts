import type { CatalogView, EndpointRef } from '@nextvisit/catalog'
import {
  type DeliveryStatus,
  type EndpointsQuery,
  MAX_COUNTED_DELIVERIES,
  TOPICS,
  type UnhealthyEndpoint,
  type Webhook,
  WEBHOOK_FAILS_AFTER_MS,
  WEBHOOK_LAGS_AFTER_MS,
  type WebhookEndpoint,
  type WebhookReplay,
} from '@nextvisit/contracts'
import { type Db, raw, sql, type Sql } from '@nextvisit/database'
import { LIVE_STREAM } from '@nextvisit/domain'
import { webhookOf } from './endpoints.ts'
import { failingSince } from './failing-since.ts'
import { readReplays } from './replays.ts'

const MAX_UNHEALTHY = 1_000
const DISABLED_BY_FILE = 'The workspace file disables it.'

interface EndpointRow {
  readonly endpointId: string
  readonly disabledAt: Date | null
  readonly because: string | null
  readonly failingSince: Date | null
  readonly deliveredAt: Date | null
  readonly livePartitions: number
  readonly behind: number
  readonly pending: number
  readonly failed: number
  readonly oldestPendingAt: Date | null
}

interface EndpointsOptions {
  readonly catalog: Pick<CatalogView, 'project'>
  /** Number of partitions that an endpoint reads. */
  readonly partitions: number
  readonly now: Date
}

/** Reads the endpoints of a project, in the order of the workspace file. */
export async function readEndpoints(
  db: Db,
  query: EndpointsQuery,
  { catalog, partitions, now }: EndpointsOptions,
): Promise<WebhookEndpoint[]> {
  const webhooks = catalog.project(query.organization, query.project)?.config.webhooks ?? []
  if (webhooks.length === 0) return []
  const [rows, replaysOf] = await Promise.all([
    readEndpointRows(db, query, { webhooks, now }),
    readReplays(db, query, { endpointIds: webhooks.map(({ id }) => id), partitions }),
  ])
  const byId = new Map(rows.map((row) => [row.endpointId, row]))
  return webhooks.flatMap((webhook) => {
    const row = byId.get(webhook.id)
    return row ? [endpointOf(webhook, row, { partitions, replays: replaysOf.get(webhook.id) ?? [] })] : []
  })
}

function readEndpointRows(
  db: Db,
  { organization, project }: EndpointsQuery,
  { webhooks, now }: { readonly webhooks: readonly Webhook[]; readonly now: Date },
): Promise<readonly EndpointRow[]> {
  const isOwn = (alias: string) =>
    sql`(${raw(alias)}.organization, ${raw(alias)}.project, ${raw(alias)}.endpoint_id) = (${organization}, ${project}, asked.endpoint_id)`
  const count = (status: DeliveryStatus) => sql`
    SELECT count(*)::int FROM (
      SELECT FROM deliveries AS d WHERE ${isOwn('d')} AND d.status = ${status} LIMIT ${MAX_COUNTED_DELIVERIES}
    ) AS counted`
  return db.$queryRaw<EndpointRow[]>(sql`
    SELECT asked.endpoint_id AS "endpointId", health.disabled_at AS "disabledAt", health.because,
      ${failingSince('health', now)} AS "failingSince", health.delivered_at AS "deliveredAt",
      place.live AS "livePartitions", place.behind, (${count('pending')}) AS pending, (${count('failed')}) AS failed,
      (${oldestPending(isOwn('d'))}) AS "oldestPendingAt"
    FROM unnest(${webhooks.map(({ id }) => id)}::text[], ${webhooks.map(({ addedAt }) => addedAt)}::timestamptz[])
      AS asked (endpoint_id, added_at)
    LEFT JOIN endpoints AS health ON ${isOwn('health')} AND health.added_at = asked.added_at
    CROSS JOIN LATERAL (
      SELECT count(*) FILTER (WHERE p.is_live)::int AS live,
        coalesce(sum(greatest(c.next_offset - p.next_offset, 0)) FILTER (WHERE NOT p.is_live), 0)::float8 AS behind
      FROM positions AS p
      LEFT JOIN checkpoints AS c
        ON (c.projection, c.topic, c.partition) = ('webhook-dispatcher', ${TOPICS.formEvents}, p.partition)
      WHERE ${isOwn('p')} AND p.replay_id = ${LIVE_STREAM}::uuid AND p.added_at = asked.added_at
    ) AS place`)
}

/** The record of the pending delivery that was created first. */
function oldestPending(isOwn: Sql): Sql {
  return sql`
    SELECT d.at FROM deliveries AS d WHERE ${isOwn} AND d.status = 'pending'
    ORDER BY d.created_at, d.delivery_id LIMIT 1`
}

function endpointOf(
  { id, url, events, include, enabled, addedAt }: Webhook,
  row: EndpointRow,
  { partitions, replays: listed }: { readonly partitions: number; readonly replays: readonly WebhookReplay[] },
): WebhookEndpoint {
  const { disabledAt, behind, pending, failed, oldestPendingAt, failingSince, deliveredAt } = row
  const isDisabled = !enabled || disabledAt !== null
  const because = enabled ? row.because : DISABLED_BY_FILE
  return {
    id,
    url,
    ...(events && { events }),
    include,
    state: isDisabled ? 'disabled' : row.livePartitions < partitions ? 'catching-up' : 'live',
    ...(isDisabled && because !== null && { because }),
    ...(disabledAt && { disabledAt: disabledAt.toISOString() }),
    addedAt,
    behind,
    pending,
    failed,
    ...(oldestPendingAt && { oldestPendingAt: oldestPendingAt.toISOString() }),
    ...(failingSince && { failingSince: failingSince.toISOString() }),
    ...(deliveredAt && { lastDeliveredAt: deliveredAt.toISOString() }),
    replays: [...listed],
  }
}

interface UnhealthyRow extends EndpointRef {
  readonly addedAt: Date
  readonly because: string | null
  readonly disabledAt: Date | null
  readonly failingSince: Date | null
  readonly pendingSince: Date | null
}

/**
 * Reads the endpoints of all projects that are disabled although the workspace file enables them, that have failed for minutes, or that
 * have a delivery pending for an hour.
 */
export async function readUnhealthyEndpoints(
  db: Db,
  { catalog, now }: { readonly catalog: Pick<CatalogView, 'project'>; readonly now: Date },
): Promise<UnhealthyEndpoint[]> {
  const before = (ms: number) => new Date(now.getTime() - ms)
  const rows = await db.$queryRaw<UnhealthyRow[]>(sql`
    SELECT own.organization, own.project, own.endpoint_id AS "endpointId", own.added_at AS "addedAt", own.because,
      own.disabled_at AS "disabledAt", ${failingSince('own', now)} AS "failingSince", oldest.created_at AS "pendingSince"
    FROM endpoints AS own
    LEFT JOIN LATERAL (
      SELECT d.created_at FROM deliveries AS d
      WHERE (d.organization, d.project, d.endpoint_id) = (own.organization, own.project, own.endpoint_id)
        AND d.status = 'pending'
      ORDER BY d.created_at, d.delivery_id LIMIT 1
    ) AS oldest ON true
    WHERE own.disabled_at IS NOT NULL OR ${failingSince('own', now)} <= ${before(WEBHOOK_FAILS_AFTER_MS)}::timestamptz
      OR oldest.created_at <= ${before(WEBHOOK_LAGS_AFTER_MS)}::timestamptz
    ORDER BY own.organization, own.project, own.endpoint_id LIMIT ${MAX_UNHEALTHY}`)
  const isKnown = (row: UnhealthyRow): boolean => {
    const webhook = webhookOf(catalog, row)
    return webhook?.enabled === true && Date.parse(webhook.addedAt) === row.addedAt.getTime()
  }
  return rows
    .filter(isKnown)
    .map(({ organization, project, endpointId, because, disabledAt, failingSince, pendingSince }) => ({
      organization,
      project,
      endpointId,
      ...(because !== null && { because }),
      ...(disabledAt && { disabledAt: disabledAt.toISOString() }),
      ...(failingSince && { failingSince: failingSince.toISOString() }),
      ...(pendingSince && { pendingSince: pendingSince.toISOString() }),
    }))
}
