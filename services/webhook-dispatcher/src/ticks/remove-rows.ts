import type { CatalogView } from '@nextvisit/catalog'
import { type Db, type Sql, sql } from '@nextvisit/database'
import { doubtfulOrganizations, webhookOf } from '../endpoints.ts'
import { isOldReplay } from '../replays.ts'
import { endpoints, isOfEndpoint, turns } from '../tables.ts'
import type { Removed } from './plan-tick.ts'

/** Maximum number of deliveries that a tick deletes for each reason. The next tick deletes more. */
const MAX_DELETED_A_TICK = 5_000
/** The same of replays, which have a position in each partition. */
const MAX_REPLAYS_A_TICK = 500

/** Deletes the rows of endpoints in a partition that are gone, or were added again. The position goes last. */
export async function removeEndpoints(db: Db, partition: number, removed: readonly Removed[]): Promise<readonly Sql[]> {
  const statements: Sql[] = []
  let left = MAX_DELETED_A_TICK
  for (const endpoint of removed) {
    if (left <= 0) break
    const found = await db.$queryRaw<{ id: string }[]>(sql`
      SELECT delivery_id AS id FROM deliveries
      WHERE ${isOfEndpoint(endpoint)} AND partition = ${partition} LIMIT ${left}`)
    statements.push(
      turns.deleteWhere(sql`${isOfEndpoint(endpoint)} AND partition = ${partition}`),
      ...deleteDeliveries(
        found.map(({ id }) => id),
        sql`true`,
      ),
    )
    left -= found.length
    if (left > 0) statements.push(...forgetEndpoint(endpoint, partition))
  }
  return statements
}

/** The last partition deletes the rows that belong to none. Reviews delete them if two partitions are the last at the same time. */
function forgetEndpoint(endpoint: Removed, partition: number): Sql[] {
  const { addedAgainAt } = endpoint
  if (addedAgainAt !== undefined)
    return [
      sql`DELETE FROM positions WHERE ${isOfEndpoint(endpoint)} AND partition = ${partition} AND added_at < ${addedAgainAt}::timestamptz`,
      sql`DELETE FROM replays WHERE ${isOfEndpoint(endpoint)} AND requested_at < ${addedAgainAt}::timestamptz`,
    ]
  const isLast = sql`NOT EXISTS (SELECT FROM positions WHERE ${isOfEndpoint(endpoint)})`
  return [
    sql`DELETE FROM positions WHERE ${isOfEndpoint(endpoint)} AND partition = ${partition}`,
    sql`DELETE FROM replays WHERE ${isOfEndpoint(endpoint)} AND ${isLast}`,
    sql`DELETE FROM endpoints WHERE ${isOfEndpoint(endpoint)} AND ${isLast}`,
  ]
}

/** Returns statements that delete the endpoints and replays without a position whose endpoint is gone. */
export async function removeOrphans(db: Db, catalog: CatalogView): Promise<readonly Sql[]> {
  const doubtful = doubtfulOrganizations(catalog)
  const found = await endpoints.select(
    db,
    sql`FROM endpoints WHERE NOT EXISTS (
      SELECT FROM positions AS own
      WHERE (own.organization, own.project, own.endpoint_id) = (endpoints.organization, endpoints.project, endpoints.endpoint_id))`,
  )
  const gone = found.filter((endpoint) => {
    const { organization } = endpoint
    return !webhookOf(catalog, endpoint) && !doubtful.has(organization) && catalog.revision(organization) > 0
  })
  return gone.flatMap((endpoint) => [
    sql`DELETE FROM replays WHERE ${isOfEndpoint(endpoint)}`,
    sql`DELETE FROM endpoints WHERE ${isOfEndpoint(endpoint)} AND added_at = ${endpoint.addedAt}::timestamptz`,
  ])
}

/** Deletes deliveries of a partition that ended before an instant, the oldest first. */
export async function deleteOldDeliveries(db: Db, partition: number, before: string): Promise<readonly Sql[]> {
  const found = await db.$queryRaw<{ id: string }[]>(sql`
    SELECT delivery_id AS id FROM deliveries WHERE partition = ${partition} AND ended_at < ${before}::timestamptz
    ORDER BY ended_at LIMIT ${MAX_DELETED_A_TICK}`)
  return deleteDeliveries(
    found.map(({ id }) => id),
    sql`ended_at < ${before}::timestamptz`,
  )
}

/** Deletes replays that were asked for before an instant, and are complete. They belong to no partition. */
export async function deleteOldReplays(db: Db, before: string): Promise<readonly Sql[]> {
  const found = await db.$queryRaw<{ id: string }[]>(sql`
    SELECT replay_id AS id FROM replays WHERE ${isOldReplay(before)} ORDER BY requested_at LIMIT ${MAX_REPLAYS_A_TICK}`)
  if (found.length === 0) return []
  const ids = found.map(({ id }) => id)
  return [
    // A delivery that is sent again meanwhile needs no row of its replay.
    sql`
    WITH gone AS (
      DELETE FROM replays WHERE replay_id = ANY(${ids}::uuid[]) RETURNING organization, project, endpoint_id, replay_id
    )
    DELETE FROM positions AS own USING gone
    WHERE (own.organization, own.project, own.endpoint_id, own.replay_id)
        = (gone.organization, gone.project, gone.endpoint_id, gone.replay_id)`,
  ]
}

/** Deletes deliveries with their attempts, if they still meet a condition: a retry may have begun. */
function deleteDeliveries(ids: readonly string[], only: Sql): Sql[] {
  if (ids.length === 0) return []
  return [
    sql`
    WITH locked AS MATERIALIZED (
      SELECT delivery_id FROM deliveries WHERE delivery_id = ANY(${ids}::uuid[]) AND ${only} ORDER BY delivery_id FOR UPDATE
    ), gone AS (
      DELETE FROM deliveries USING locked WHERE deliveries.delivery_id = locked.delivery_id RETURNING deliveries.delivery_id
    )
    DELETE FROM attempts USING gone WHERE attempts.delivery_id = gone.delivery_id`,
  ]
}
