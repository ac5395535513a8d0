import type { TickContext } from '@nextvisit/consumer'
import { type NewRow, type Sql, sql } from '@nextvisit/database'
import { LIVE_STREAM } from '@nextvisit/domain'
import type { Endpoint } from '../endpoints.ts'
import { endpoints, positions } from '../tables.ts'
import type { TickPlan } from './plan-tick.ts'

/** Maximum number of positions of each kind that a tick creates. The next tick creates more. */
const MAX_NEW_A_TICK = 100
/** The time of a record in the log may differ from that in the record: clocks differ, and a record waits in an outbox. */
const REPLAY_BEGINS_EARLIER_MS = 3_600_000

/**
 * Creates the positions of new endpoints and replays. A new endpoint begins with the first record that is in the log since it was added; a
 * replay ends where the log ends now.
 */
export async function createPositions(
  { added, begun }: Pick<TickPlan, 'added' | 'begun'>,
  { partition, nextOffset, offsetAt }: Pick<TickContext, 'partition' | 'nextOffset' | 'offsetAt'>,
): Promise<readonly Sql[]> {
  const offsets = new Map<number, Promise<bigint>>()
  const find = (instantMs: number): Promise<bigint> => {
    const known = offsets.get(instantMs) ?? offsetAt(instantMs)
    offsets.set(instantMs, known)
    return known
  }
  const rows: NewRow<typeof positions>[] = []
  for (const { webhook, ...endpoint } of added.slice(0, MAX_NEW_A_TICK)) {
    const { addedAt } = webhook
    const from = await find(Date.parse(addedAt))
    rows.push({ ...endpoint, addedAt, replayId: LIVE_STREAM, partition, nextOffset: from, isLive: false })
  }
  for (const { organization, project, endpointId, replayId, addedAt, fromAt } of begun.slice(0, MAX_NEW_A_TICK)) {
    const from = await find(Date.parse(fromAt) - REPLAY_BEGINS_EARLIER_MS)
    const place = { organization, project, endpointId, replayId, partition, addedAt }
    rows.push({ ...place, nextOffset: from, beginOffset: from, endOffset: nextOffset, isLive: false })
  }
  return [
    ...createEndpoints(added.slice(0, MAX_NEW_A_TICK)),
    ...positions.insertMissing(rows),
    ...noteBegun(begun.slice(0, MAX_NEW_A_TICK), partition),
  ]
}

/** Notes that the partition has begun these replays. Ticks of others do so at the same time. */
function noteBegun(begun: TickPlan['begun'], partition: number): Sql[] {
  if (begun.length === 0) return []
  const replayIds = begun.map(({ replayId }) => replayId)
  return [
    sql`
    WITH locked AS MATERIALIZED (
      SELECT replay_id FROM replays WHERE replay_id = ANY(${replayIds}::uuid[]) ORDER BY replay_id FOR UPDATE
    )
    UPDATE replays SET unplaced = array_remove(unplaced, ${partition}::bigint) FROM locked WHERE replays.replay_id = locked.replay_id`,
  ]
}

/** Creates the rows of endpoints. The health of an earlier endpoint with the same id is forgotten. */
function createEndpoints(added: readonly Endpoint[]): Sql[] {
  const rows = added.map(({ webhook, ...endpoint }) => ({ ...endpoint, addedAt: webhook.addedAt }))
  return endpoints.upsert(rows, {
    where: sql`NOT EXISTS (
      SELECT FROM endpoints AS before
      WHERE (before.organization, before.project, before.endpoint_id) = (given.organization, given.project, given.endpoint_id)
        AND before.added_at >= given.added_at::timestamptz)`,
  })
}
