import type { CatalogView, EndpointRef } from '@nextvisit/catalog'
import {
  type EndpointsQuery,
  TOPICS,
  type UnhealthyEndpoint,
  type Webhook,
  WEBHOOK_FAILS_AFTER_MS,
  WEBHOOK_LAGS_AFTER_MS,
  type WebhookEndpoint,
  type WebhookEndpoints,
} from '@nextvisit/contracts'
import { type Db, sql } from '@nextvisit/database'
import { LIVE_STREAM } from '@nextvisit/domain'
import { type Counts, countDeliveries } from './count-deliveries.ts'
import { webhookOf } from './endpoints.ts'
import { failingSinceOf } from './failing-since.ts'
import { oldestPending } from './oldest-pending.ts'
import { readReplays, replayOf, type ReplayRow } from './replays.ts'
import { endpoints } from './tables.ts'

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
  { organization, project, endpointId }: EndpointsQuery,
  { catalog, partitions, now }: EndpointsOptions,
): Promise<Omit<WebhookEndpoints, 'stale'>> {
  const inFile = catalog.project(organization, project)?.config.webhooks ?? []
  const webhooks = inFile.filter(({ id }) => endpointId === undefined || id === endpointId)
  if (webhooks.length === 0) return { webhooks: [], countedUpTo: 0 }
  const refs = webhooks.map(({ id, addedAt }) => ({ organization, project, endpointId: id, addedAt }))
  const [rows, replays] = await Promise.all([readEndpointRows(db, refs, now), readReplays(db, refs, partitions)])
  const counts = await countDeliveries(
    db,
    refs,
    replays.map(({ replayId }) => replayId),
  )
  const byId = new Map(rows.map((row) => [row.endpointId, row]))
  const replaysOf = Map.groupBy(replays, (replay) => replay.endpointId)
  return {
    webhooks: webhooks.flatMap((webhook) => {
      const row = byId.get(webhook.id)
      return row ? [endpointOf(webhook, row, { partitions, counts, replays: replaysOf.get(webhook.id) ?? [] })] : []
    }),
    countedUpTo: counts.countedUpTo,
  }
}

type AskedEndpoint = EndpointRef & Pick<Webhook, 'addedAt'>

function readEndpointRows(db: Db, refs: readonly AskedEndpoint[], now: Date): Promise<readonly EndpointRow[]> {
  return db.$queryRaw<EndpointRow[]>(sql`
    SELECT asked.endpoint_id AS "endpointId", health.disabled_at AS "disabledAt", health.because,
      ${failingSinceOf('health', now)} AS "failingSince", health.delivered_at AS "deliveredAt",
      place.live AS "livePartitions", place.behind, oldest.pending_since AS "oldestPendingAt"
    FROM ${endpoints.source('asked', refs, ['organization', 'project', 'endpointId', 'addedAt'])}
    LEFT JOIN endpoints AS health
      ON (health.organization, health.project, health.endpoint_id, health.added_at)
        = (asked.organization, asked.project, asked.endpoint_id, asked.added_at::timestamptz)
    CROSS JOIN LATERAL (
      SELECT count(*) FILTER (WHERE p.is_live)::int AS live,
        coalesce(sum(greatest(c.next_offset - p.next_offset, 0)) FILTER (WHERE NOT p.is_live), 0)::float8 AS behind
      FROM positions AS p
      LEFT JOIN checkpoints AS c
        ON (c.projection, c.topic, c.partition) = ('webhook-dispatcher', ${TOPICS.formEvents}, p.partition)
      WHERE (p.organization, p.project, p.endpoint_id, p.replay_id)
          = (asked.organization, asked.project, asked.endpoint_id, ${LIVE_STREAM}::uuid)
        AND p.added_at = asked.added_at::timestamptz
    ) AS place
    ${oldestPending('asked')}`)
}

interface About {
  readonly partitions: number
  readonly counts: Counts
  readonly replays: readonly ReplayRow[]
}

function endpointOf(
  { id, url, events, include, enabled, addedAt }: Webhook,
  row: EndpointRow,
  { partitions, counts, replays }: About,
): WebhookEndpoint {
  const { disabledAt, behind, oldestPendingAt, deliveredAt } = row
  const { pending = 0, failed = 0 } = counts.endpoints.get(id) ?? {}
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
    ...(row.failingSince && { failingSince: row.failingSince.toISOString() }),
    ...(deliveredAt && { lastDeliveredAt: deliveredAt.toISOString() }),
    replays: replays.map((replay) => replayOf(replay, partitions, counts.replays.get(replay.replayId))),
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
      own.disabled_at AS "disabledAt", ${failingSinceOf('own', now)} AS "failingSince", oldest.pending_since AS "pendingSince"
    FROM endpoints AS own
    ${oldestPending('own')}
    WHERE own.disabled_at IS NOT NULL OR ${failingSinceOf('own', now)} <= ${before(WEBHOOK_FAILS_AFTER_MS)}::timestamptz
      OR oldest.pending_since <= ${before(WEBHOOK_LAGS_AFTER_MS)}::timestamptz
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
