import type { CatalogView, EndpointRef } from '@nextvisit/catalog'
import { type Db, type Sql, sql } from '@nextvisit/database'
import { doubtfulOrganizations, webhookOf } from '../endpoints.ts'
import { isOldReplay } from '../replays.ts'
import { endpoints, isOfEndpoint, replays, turns } from '../tables.ts'
import { CLOCKS_DIFFER_BY_MS, type Removed } from './plan-tick.ts'

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
      giveBackReplays({ ...endpoint, addedAgainAt }, partition),
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

/**
 * Returns the statement that lets the partition begin replays of the new endpoint again. A process that did not know that endpoint yet
 * had begun them at the place of the old one.
 */
function giveBackReplays({ addedAgainAt, ...endpoint }: Required<Removed>, partition: number): Sql {
  return sql`
    WITH begun AS MATERIALIZED (
      SELECT replay_id FROM replays
      WHERE ${isOfEndpoint(endpoint)} AND requested_at >= ${addedAgainAt}::timestamptz AND ${partition}::bigint <> ALL(unplaced)
        AND EXISTS (
          SELECT FROM positions AS own
          WHERE (own.organization, own.project, own.endpoint_id, own.replay_id, own.partition)
              = (replays.organization, replays.project, replays.endpoint_id, replays.replay_id, ${partition}::int)
            AND own.added_at < ${addedAgainAt}::timestamptz)
      ORDER BY replay_id FOR UPDATE
    )
    UPDATE replays SET unplaced = array_append(unplaced, ${partition}::bigint) FROM begun WHERE replays.replay_id = begun.replay_id`
}

/**
 * Returns statements that delete the endpoints and replays without a position whose endpoint is gone. `mustWait`: it is not certain yet of a
 * replay.
 */
export async function removeOrphans(
  db: Db,
  catalog: CatalogView,
  asOfMs: number,
): Promise<{ readonly statements: readonly Sql[]; readonly mustWait: boolean }> {
  const doubtful = doubtfulOrganizations(catalog)
  const found = await endpoints.select(
    db,
    sql`FROM endpoints WHERE NOT EXISTS (
      SELECT FROM positions AS own
      WHERE (own.organization, own.project, own.endpoint_id) = (endpoints.organization, endpoints.project, endpoints.endpoint_id))`,
  )
  // No partition has begun a replay of an endpoint that was removed before its first tick.
  const unbegun = await replays.select(
    db,
    sql`FROM replays WHERE unplaced <> '{}' AND NOT EXISTS (
      SELECT FROM endpoints AS own
      WHERE (own.organization, own.project, own.endpoint_id) = (replays.organization, replays.project, replays.endpoint_id))`,
  )
  const isGone = (endpoint: EndpointRef): boolean => {
    const { organization } = endpoint
    return !webhookOf(catalog, endpoint) && !doubtful.has(organization) && catalog.revision(organization) > 0
  }
  const lost = unbegun.filter(isGone)
  const certain = lost.filter(({ requestedAt }) => Date.parse(requestedAt) + CLOCKS_DIFFER_BY_MS < asOfMs)
  const lostIds = certain.map(({ replayId }) => replayId)
  return {
    statements: [
      ...found
        .filter(isGone)
        .flatMap((endpoint) => [
          sql`DELETE FROM replays WHERE ${isOfEndpoint(endpoint)}`,
          sql`DELETE FROM endpoints WHERE ${isOfEndpoint(endpoint)} AND added_at = ${endpoint.addedAt}::timestamptz`,
        ]),
      ...(lostIds.length > 0 ? [sql`DELETE FROM replays WHERE replay_id = ANY(${lostIds}::uuid[])`] : []),
    ],
    mustWait: certain.length < lost.length,
  }
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
