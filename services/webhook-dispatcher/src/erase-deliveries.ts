import { type ErasedUser, erasedSource, eraseRows } from '@nextvisit/consumer'
import { type Sql, sql } from '@nextvisit/database'
import { TURN_KEY } from './tables.ts'

/** Returns a statement that locks the turns of erased users. */
export function lockTurns(erased: readonly ErasedUser[]): Sql[] {
  if (erased.length === 0) return []
  return [
    sql`
    SELECT FROM turns AS own JOIN ${erasedSource(erased)} USING (organization, project, user_id)
    ORDER BY ${TURN_KEY} FOR UPDATE OF own`,
  ]
}

/**
 * Returns statements that delete everything that is to be sent, or was sent, about erased users, apart from erasures: these inform the
 * customer's systems.
 */
export function eraseDeliveries(erased: readonly ErasedUser[]): Sql[] {
  if (erased.length === 0) return []
  return [
    sql`
    DELETE FROM attempts USING deliveries AS own JOIN ${erasedSource(erased)} USING (organization, project, user_id)
    WHERE attempts.delivery_id = own.delivery_id AND ${IS_ERASED}`,
    ...eraseRows('deliveries', erased, { only: IS_ERASED }),
    sql`
    DELETE FROM turns AS own USING ${erasedSource(erased)}
    WHERE (own.organization, own.project, own.user_id) = (erased.organization, erased.project, erased.user_id)
      AND NOT EXISTS (
        SELECT FROM deliveries AS waiting
        WHERE (waiting.organization, waiting.project, waiting.endpoint_id, waiting.replay_id, waiting.user_id)
            = (own.organization, own.project, own.endpoint_id, own.replay_id, own.user_id)
          AND waiting.status = 'pending')`,
  ]
}

/** The offset of the `UserErased`, as the fence of the user has it; null: unknown. */
const CAUSE_OFFSET = sql`(
  SELECT cause_offset FROM erased_users AS fence
  WHERE (fence.organization, fence.project, fence.user_id) = (erased.organization, erased.project, erased.user_id))`

/** The condition that the erasure `erased` covers the delivery `own`: `isFenced` of the domain in SQL. */
const IS_ERASED = sql`(
  own.type <> 'user.erased' AND CASE
    WHEN own.type IN ('user.entered_segment', 'user.left_segment')
    THEN coalesce(own.cause_offset < ${CAUSE_OFFSET}, own.source_offset < erased."offset")
    ELSE own.source_offset < erased."offset" OR coalesce(own.cause_offset < ${CAUSE_OFFSET}, false)
  END)`
