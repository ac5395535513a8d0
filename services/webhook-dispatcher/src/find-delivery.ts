import type { CatalogView } from '@nextvisit/catalog'
import { type DeliveryQuery, WebhookEvent } from '@nextvisit/contracts'
import { type Db, sql } from '@nextvisit/database'
import { deliveryIdOf, LIVE_STREAM } from '@nextvisit/domain'
import { webhookOf } from './endpoints.ts'
import { isOfEndpoint } from './tables.ts'

/**
 * Finds the delivery with this id, or else the latest one whose requests have it as `webhook-id`. The ids of deliveries follow from it, so no
 * index is needed. undefined: the endpoint has none. One of a replay that is no longer remembered is found by its own id only.
 */
export async function findDelivery(
  db: Db,
  { deliveryId, ...endpoint }: DeliveryQuery,
  catalog: Pick<CatalogView, 'project'>,
): Promise<DeliveryQuery | undefined> {
  const webhook = webhookOf(catalog, endpoint)
  if (!webhook) return undefined
  const replays = await db.$queryRaw<{ readonly replayId: string }[]>(
    sql`SELECT replay_id AS "replayId" FROM replays WHERE ${isOfEndpoint(endpoint)}`,
  )
  const id = deliveryId.toLowerCase()
  const ofRecord = [LIVE_STREAM, ...replays.map(({ replayId }) => replayId)].flatMap((replayId) => {
    const stream = { ...endpoint, addedAt: webhook.addedAt, replayId }
    return WebhookEvent.options.map((type) => deliveryIdOf(stream, { webhookId: id, type }))
  })
  const [found] = await db.$queryRaw<{ readonly deliveryId: string }[]>(sql`
    SELECT delivery_id AS "deliveryId" FROM deliveries
    WHERE delivery_id = ANY(${[id, ...ofRecord]}::uuid[]) AND ${isOfEndpoint(endpoint)}
    ORDER BY delivery_id = ${id}::uuid DESC, created_at DESC, delivery_id LIMIT 1`)
  return found && { ...endpoint, deliveryId: found.deliveryId }
}
