import type { EndpointRef } from '@nextvisit/catalog'
import type { DeliveryStatus } from '@nextvisit/contracts'
import { type Db, raw, sql, type Sql } from '@nextvisit/database'
import { LIVE_STREAM } from '@nextvisit/domain'
import { endpoints } from './tables.ts'

/**
 * Maximum number of rows that an answer counts. They are divided between its counts. Those of a table that has just changed are read from
 * the table, and not only from an index.
 */
const MAX_ROWS = 50_000
/** In the text of the statement, so that Postgres uses the index of replays. */
export const NO_REPLAY = raw(`'${LIVE_STREAM}'::uuid`)

interface EndpointCounts {
  readonly pending: number
  readonly failed: number
}

export interface ReplayCounts extends EndpointCounts {
  readonly deliveries: number
}

/** Counts by the id of an endpoint, and of a replay. */
export interface Counts {
  readonly endpoints: ReadonlyMap<string, EndpointCounts>
  readonly replays: ReadonlyMap<string, ReplayCounts>
  /** A count that has reached this number may be larger. */
  readonly countedUpTo: number
}

/** Counts the deliveries to endpoints, and those of replays. The more there are, the sooner each count ends. */
export async function countDeliveries(
  db: Db,
  refs: readonly EndpointRef[],
  replayIds: readonly string[],
): Promise<Counts> {
  // Endpoints and replays have two each.
  const countedUpTo = Math.floor(MAX_ROWS / 2 / (refs.length + replayIds.length))
  const [ofEndpoints, ofReplays] = await Promise.all([
    countOfEndpoints(db, refs, countedUpTo),
    replayIds.length > 0 ? countOfReplays(db, replayIds, countedUpTo) : [],
  ])
  return { endpoints: new Map(ofEndpoints), replays: new Map(ofReplays), countedUpTo }
}

/** Counts rows `d` of deliveries. */
const count = (where: Sql, status: DeliveryStatus, max: number) => sql`(
  SELECT count(*)::int FROM (SELECT FROM deliveries AS d WHERE ${where} AND d.status = ${status} LIMIT ${max}) AS counted)`

async function countOfEndpoints(db: Db, refs: readonly EndpointRef[], max: number) {
  const isOwn = sql`(d.organization, d.project, d.endpoint_id) = (asked.organization, asked.project, asked.endpoint_id)`
  const rows = await db.$queryRaw<(EndpointCounts & { readonly id: string })[]>(sql`
    SELECT asked.endpoint_id AS id, ${count(isOwn, 'pending', max)} AS pending, ${count(isOwn, 'failed', max)} AS failed
    FROM ${endpoints.source('asked', refs)}`)
  return rows.map(({ id, ...counts }) => [id, counts] as const)
}

async function countOfReplays(db: Db, replayIds: readonly string[], max: number) {
  const isOwn = sql`d.replay_id = asked.replay_id AND d.replay_id <> ${NO_REPLAY}`
  // In this order, pending ones come first.
  const rows = await db.$queryRaw<(ReplayCounts & { readonly id: string })[]>(sql`
    SELECT asked.replay_id AS id, own.deliveries, own.pending, ${count(isOwn, 'failed', max)} AS failed
    FROM unnest(${[...replayIds]}::uuid[]) AS asked (replay_id), LATERAL (
      SELECT count(*)::int AS deliveries, (count(*) FILTER (WHERE counted.status = 'pending'))::int AS pending
      FROM (SELECT d.status FROM deliveries AS d WHERE ${isOwn} ORDER BY d.status DESC LIMIT ${max}) AS counted
    ) AS own`)
  return rows.map(({ id, ...counts }) => [id, counts] as const)
}
