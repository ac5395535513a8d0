import type { CatalogView, EndpointRef } from '@nextvisit/catalog'
import { type Db, type RowOf, sql } from '@nextvisit/database'
import { LIVE_STREAM } from '@nextvisit/domain'
import type { Webhook } from '@nextvisit/contracts'
import type { Position } from '../draft.ts'
import { endpointKeyOf, isSameInstant, webhookOf } from '../endpoints.ts'
import { isOldReplay } from '../replays.ts'
import { endpoints, positions, replays } from '../tables.ts'

export type Replay = RowOf<typeof replays>

/** The rows that a tick of a partition compares with the catalog. Those of replays that the partition has read are left out. */
export interface Rows {
  readonly positions: readonly Position[]
  readonly replays: readonly Replay[]
  /** Endpoints of all partitions whose last attempt has failed. */
  readonly failing: readonly EndpointRef[]
  /** Returns true for an endpoint that receives nothing: the workspace file disables it, or its failures do. */
  readonly isDisabled: (endpoint: EndpointRef, webhook: Webhook) => boolean
}

/** The condition that a position has more to read, now or later. */
const IS_UNREAD = sql`(end_offset IS NULL OR next_offset < end_offset)`

export async function readRows(db: Db, partition: number): Promise<Rows> {
  const found = await positions.select(db, sql`FROM positions WHERE partition = ${partition} AND ${IS_UNREAD}`)
  const unread = found.flatMap(({ replayId }) => (replayId === LIVE_STREAM ? [] : replayId))
  const unhealthy = await endpoints.select(
    db,
    sql`FROM endpoints WHERE disabled_at IS NOT NULL OR failing_since IS NOT NULL`,
  )
  const disabled = unhealthy.filter(({ disabledAt }) => disabledAt !== null)
  const addedAt = new Map(disabled.map((endpoint) => [endpointKeyOf(endpoint), endpoint.addedAt]))
  return {
    positions: found,
    replays: await replays.select(
      db,
      sql`FROM replays WHERE replay_id IN (
          SELECT replay_id FROM replays WHERE unplaced <> '{}' AND ${partition}::bigint = ANY(unplaced)
          UNION ALL SELECT unnest(${unread}::uuid[]))`,
    ),
    failing: unhealthy.filter(({ failingSince }) => failingSince !== null),
    isDisabled: (endpoint, webhook) => {
      const disabledSince = addedAt.get(endpointKeyOf(endpoint))
      return !webhook.enabled || (disabledSince !== undefined && isSameInstant(disabledSince, webhook.addedAt))
    },
  }
}

/** A reason for a tick of a partition. */
interface Work extends EndpointRef {
  readonly partition: number
  readonly kind: 'behind' | 'disabled' | 'failing' | 'replay' | 'old'
  /** Of the position; null: the work is of none. */
  readonly addedAt: Date | null
  /** `added_at` of the endpoint that its failures disable; null: they do not. */
  readonly disabledSince: Date | null
}

/** Returns the partitions in which time, a call or the log gives ticks something to do. `before`: older rows are deleted. */
export async function findWork(
  db: Db,
  catalog: CatalogView,
  { partitions, before }: { readonly partitions: readonly number[]; readonly before: string },
): Promise<readonly number[]> {
  const owned = sql`unnest(${partitions}::int[]) AS owned (partition)`
  const work = await db.$queryRaw<Work[]>(sql`
    SELECT 'behind' AS kind, partition, organization, project, endpoint_id AS "endpointId", own.added_at AS "addedAt",
      CASE WHEN endpoints.disabled_at IS NOT NULL THEN endpoints.added_at END AS "disabledSince"
    FROM positions AS own LEFT JOIN endpoints USING (organization, project, endpoint_id)
    WHERE partition = ANY(${partitions}::int[]) AND NOT is_live AND ${IS_UNREAD}
    UNION ALL
    SELECT 'disabled', partition, organization, project, endpoint_id, own.added_at, endpoints.added_at
    FROM endpoints JOIN positions AS own USING (organization, project, endpoint_id)
    WHERE disabled_at IS NOT NULL AND replay_id = ${LIVE_STREAM}::uuid AND partition = ANY(${partitions}::int[]) AND is_live
    UNION ALL
    SELECT 'failing', own.partition, organization, project, endpoint_id, NULL, NULL
    FROM endpoints, (SELECT min(owned.partition) AS partition FROM ${owned} HAVING count(*) > 0) AS own
    WHERE failing_since IS NOT NULL
    UNION ALL
    SELECT 'replay', owned.partition, organization, project, endpoint_id, NULL, NULL
    FROM replays AS asked, ${owned}
    WHERE asked.unplaced <> '{}' AND owned.partition = ANY(asked.unplaced)
    UNION ALL
    SELECT 'old', owned.partition, '', '', '', NULL, NULL
    FROM ${owned}
    WHERE EXISTS (SELECT FROM deliveries WHERE deliveries.partition = owned.partition AND ended_at < ${before}::timestamptz)
    UNION ALL
    SELECT 'old', min(owned.partition), '', '', '', NULL, NULL
    FROM ${owned}
    WHERE EXISTS (SELECT FROM replays WHERE ${isOldReplay(before)})
    HAVING count(*) > 0`)
  return work.flatMap((one) => (isDue(one, catalog) ? one.partition : []))
}

function isDue({ kind, addedAt, disabledSince, ...endpoint }: Work, catalog: CatalogView): boolean {
  if (kind === 'old') return true
  const webhook = webhookOf(catalog, endpoint)
  if (!webhook) return false
  if (kind === 'replay') return true
  // An attempt that was under way when the workspace file disabled the endpoint may have failed since.
  if (kind === 'failing') return !webhook.enabled
  const isSame = addedAt?.getTime() === Date.parse(webhook.addedAt)
  const isDisabled = disabledSince?.getTime() === Date.parse(webhook.addedAt)
  return isSame && (kind === 'disabled' ? isDisabled : webhook.enabled && !isDisabled)
}

/** Returns those of these partitions that have rows, or all if there are rows that belong to no partition. */
export async function findRows(db: Db, partitions: readonly number[]): Promise<readonly number[]> {
  if (partitions.length === 0) return []
  const found = await db.$queryRaw<{ partition: number }[]>(sql`
    SELECT owned.partition FROM unnest(${partitions}::int[]) AS owned (partition)
    WHERE EXISTS (SELECT FROM positions WHERE positions.partition = owned.partition AND ${IS_UNREAD})
      OR EXISTS (SELECT FROM endpoints) OR EXISTS (SELECT FROM replays)`)
  return found.map(({ partition }) => partition)
}
