import { raw, type Sql, sql } from '@nextvisit/database'
import { LIVE_STREAM } from '@nextvisit/domain'

/**
 * Joins the delivery to the endpoint `alias` that has been pending for longest, as `oldest`. `pending_since` is the time of its creation, or
 * that of a retry by hand after its end. `undelivered_since` is the time of its record, unless records are old for another reason: in a replay,
 * and after a retry by hand, it is `pending_since`. Reads one row.
 */
export function oldestPending(alias: string): Sql {
  const of = raw(alias)
  return sql`
    LEFT JOIN LATERAL (
      SELECT d.pending_since,
        CASE WHEN d.replay_id = ${LIVE_STREAM}::uuid AND d.pending_since = d.created_at THEN d.at ELSE d.pending_since END
          AS undelivered_since
      FROM deliveries AS d
      WHERE (d.organization, d.project, d.endpoint_id) = (${of}.organization, ${of}.project, ${of}.endpoint_id)
        AND d.status = 'pending'
      ORDER BY d.pending_since LIMIT 1
    ) AS oldest ON TRUE`
}
