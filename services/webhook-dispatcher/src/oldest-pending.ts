import { raw, type Sql, sql } from '@nextvisit/database'
import { LIVE_STREAM } from '@nextvisit/domain'

/**
 * Joins the pending delivery to the endpoint `alias` that was created first, as `oldest`. `undelivered_since` is the time of its record; of a
 * replay, whose records are old, that of its creation. Reads one row.
 */
export function oldestPending(alias: string): Sql {
  const of = raw(alias)
  return sql`
    LEFT JOIN LATERAL (
      SELECT d.created_at, CASE WHEN d.replay_id = ${LIVE_STREAM}::uuid THEN d.at ELSE d.created_at END AS undelivered_since
      FROM deliveries AS d
      WHERE (d.organization, d.project, d.endpoint_id) = (${of}.organization, ${of}.project, ${of}.endpoint_id)
        AND d.status = 'pending'
      ORDER BY d.created_at, d.delivery_id LIMIT 1
    ) AS oldest ON TRUE`
}
