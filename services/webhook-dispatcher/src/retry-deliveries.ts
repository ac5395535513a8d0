import type { EndpointRef } from '@nextvisit/catalog'
import type { DeliveryQuery, RetryCommand } from '@nextvisit/contracts'
import { type Db, type Sql, sql } from '@nextvisit/database'
import { TEST_DUE_AT } from './sending/due-turns.ts'

/** Bounds the locks of a statement. */
const RETRIED_AT_ONCE = 1_000

interface Retried {
  readonly retried: number
  /** The last delivery that was looked at. */
  readonly createdAt: Date | null
  readonly deliveryId: string | null
}

/**
 * Makes deliveries pending again, with a new round of attempts, and their turns due. It locks turns first, as senders do: otherwise both
 * could wait for each other. `chosen`: a statement that selects rows of deliveries.
 */
function retry(chosen: Sql, now: Date): Sql {
  return sql`
    WITH chosen AS MATERIALIZED (${chosen}), locked AS MATERIALIZED (
      SELECT 1 FROM turns JOIN (SELECT DISTINCT ${KEY} FROM chosen) AS own USING (${KEY}) ORDER BY ${KEY} FOR UPDATE OF turns
    ), retried AS (
      UPDATE deliveries AS own SET status = 'pending', round = 0, ended_at = NULL
      FROM chosen, (SELECT count(*) AS turns FROM locked) AS counted
      WHERE own.delivery_id = chosen.delivery_id AND counted.turns >= 0
      RETURNING own.organization, own.project, own.endpoint_id, own.replay_id, own.user_id, own.partition, own.type
    ), due AS (
      INSERT INTO turns (${KEY}, partition, next_at)
      SELECT DISTINCT ON (${KEY}) ${KEY}, partition,
        CASE WHEN type = 'webhook.test' THEN ${TEST_DUE_AT}::timestamptz ELSE ${now}::timestamptz END
      FROM retried ORDER BY ${KEY}
      ON CONFLICT (${KEY}) DO UPDATE SET next_at = least(turns.next_at, excluded.next_at)
    )
    SELECT (SELECT count(*)::int FROM retried) AS retried, last.created_at AS "createdAt", last.delivery_id AS "deliveryId"
    FROM (SELECT 1) AS one
    LEFT JOIN (SELECT created_at, delivery_id FROM chosen ORDER BY created_at DESC, delivery_id DESC LIMIT 1) AS last ON TRUE`
}

/** In the order of the primary key, in which all transactions lock turns. */
const KEY = sql`organization, project, user_id, endpoint_id, replay_id`

function ofEndpoint({ organization, project, endpointId }: EndpointRef): Sql {
  return sql`(organization, project, endpoint_id) = (${organization}, ${project}, ${endpointId})`
}

/** Sends an ended delivery again, and a pending one now. Returns false if the endpoint has no such delivery. */
export async function retryDelivery(db: Db, { deliveryId, ...endpoint }: DeliveryQuery, now: Date): Promise<boolean> {
  const chosen = sql`SELECT * FROM deliveries WHERE delivery_id = ${deliveryId}::uuid AND ${ofEndpoint(endpoint)}`
  const [row] = await db.$queryRaw<Retried[]>(retry(chosen, now))
  return row?.retried === 1
}

/**
 * Sends failed deliveries of an endpoint again, whose records are of this time. Returns their number. Ends early if `signal` is aborted:
 * the rest stays failed.
 */
export async function retryFailed(
  db: Db,
  { from, to, ...endpoint }: RetryCommand,
  { now, signal }: { readonly now: Date; readonly signal: AbortSignal },
): Promise<number> {
  const until = to ?? now.toISOString()
  let [retried, after]: [number, Retried | undefined] = [0, undefined]
  do {
    const next: Sql = after
      ? sql`(created_at, delivery_id) > (${after.createdAt}::timestamptz, ${after.deliveryId}::uuid)`
      : sql`TRUE`
    const chosen = sql`
      SELECT * FROM deliveries
      WHERE ${ofEndpoint(endpoint)} AND status = 'failed' AND type <> 'webhook.test'
        AND at >= ${from}::timestamptz AND at < ${until}::timestamptz AND ${next}
      ORDER BY created_at, delivery_id LIMIT ${RETRIED_AT_ONCE}`
    const [row]: Retried[] = await db.$queryRaw<Retried[]>(retry(chosen, now))
    retried += row?.retried ?? 0
    after = row?.deliveryId ? row : undefined
  } while (after && !signal.aborted)
  return retried
}
