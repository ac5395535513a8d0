import { type DeliveryQuery, type RetryCommand, TEST_IS_SENT_ONCE } from '@nextvisit/contracts'
import { type Db, type Sql, sql } from '@nextvisit/database'
import { isOfEndpoint, TURN_KEY } from './tables.ts'

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
      SELECT 1 FROM turns JOIN (SELECT DISTINCT ${TURN_KEY} FROM chosen) AS own USING (${TURN_KEY}) ORDER BY ${TURN_KEY} FOR UPDATE OF turns
    ), retried AS (
      UPDATE deliveries AS own SET status = 'pending', round = 0, ended_at = NULL,
        pending_since = CASE WHEN own.status = 'pending' THEN own.pending_since ELSE ${now}::timestamptz END
      FROM chosen, (SELECT count(*) AS turns FROM locked) AS counted
      WHERE own.delivery_id = chosen.delivery_id AND counted.turns >= 0
      RETURNING own.organization, own.project, own.endpoint_id, own.replay_id, own.user_id, own.partition
    ), due AS (
      INSERT INTO turns (${TURN_KEY}, partition, next_at)
      SELECT DISTINCT ON (${TURN_KEY}) ${TURN_KEY}, partition, ${now}::timestamptz FROM retried ORDER BY ${TURN_KEY}
      ON CONFLICT (${TURN_KEY}) DO UPDATE SET next_at = least(turns.next_at, excluded.next_at)
    )
    SELECT (SELECT count(*)::int FROM retried) AS retried, last.created_at AS "createdAt", last.delivery_id AS "deliveryId"
    FROM (SELECT 1) AS one
    LEFT JOIN (SELECT created_at, delivery_id FROM chosen ORDER BY created_at DESC, delivery_id DESC LIMIT 1) AS last ON TRUE`
}

/** Sends an ended delivery again, and a pending one now. undefined: the endpoint has no such delivery. */
export async function retryDelivery(
  db: Db,
  { deliveryId, ...endpoint }: DeliveryQuery,
  now: Date,
): Promise<'retried' | typeof TEST_IS_SENT_ONCE | undefined> {
  const isIt = sql`delivery_id = ${deliveryId}::uuid AND ${isOfEndpoint(endpoint)}`
  const chosen = sql`SELECT * FROM deliveries WHERE ${isIt} AND type <> 'webhook.test'`
  const [row] = await db.$queryRaw<Retried[]>(retry(chosen, now))
  if (row?.retried === 1) return 'retried'
  const tests = await db.$queryRaw<object[]>(sql`SELECT 1 AS found FROM deliveries WHERE ${isIt}`)
  return tests.length > 0 ? TEST_IS_SENT_ONCE : undefined
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
      WHERE ${isOfEndpoint(endpoint)} AND status = 'failed' AND type <> 'webhook.test'
        AND at >= ${from}::timestamptz AND at < ${until}::timestamptz AND ${next}
      ORDER BY created_at, delivery_id LIMIT ${RETRIED_AT_ONCE}`
    const [row]: Retried[] = await db.$queryRaw<Retried[]>(retry(chosen, now))
    retried += row?.retried ?? 0
    after = row?.deliveryId ? row : undefined
  } while (after && !signal.aborted)
  return retried
}
