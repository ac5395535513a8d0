import { randomUUID } from 'node:crypto'
import type { EndpointRef } from '@nextvisit/catalog'
import {
  MAX_UNFINISHED_REPLAYS,
  type ReplayCommand,
  TOO_MANY_REPLAYS,
  type WebhookEvent,
  type WebhookReplay,
  type WebhookReplayBegun,
} from '@nextvisit/contracts'
import { type Db, raw, sql, type Sql } from '@nextvisit/database'
import { NO_REPLAY, type ReplayCounts } from './count-deliveries.ts'
import { endpoints, isOfEndpoint } from './tables.ts'

/** Number of replays that an endpoint lists. */
const LISTED_REPLAYS = 10
/** Number of replays of an endpoint that are remembered, beside those that are not complete. */
const KEPT_REPLAYS = 100

/** A replay of an endpoint. */
export interface ReplayRow {
  readonly endpointId: string
  readonly replayId: string
  readonly from: Date
  readonly to: Date
  readonly events: WebhookEvent[] | null
  readonly requestedAt: Date
  readonly progress: number
  readonly donePartitions: number
}

/** Reads the latest replays of endpoints, newest first. `partitions`: their number. */
export function readReplays(db: Db, refs: readonly EndpointRef[], partitions: number): Promise<readonly ReplayRow[]> {
  return db.$queryRaw<ReplayRow[]>(sql`
    SELECT asked.endpoint_id AS "endpointId", own.replay_id AS "replayId", own.from_at AS "from", own.to_at AS "to",
      own.events, own.requested_at AS "requestedAt", place.progress, place.done AS "donePartitions"
    FROM ${endpoints.source('asked', refs)}, LATERAL (
      SELECT * FROM replays
      WHERE (organization, project, endpoint_id) = (asked.organization, asked.project, asked.endpoint_id)
      ORDER BY requested_at DESC, replay_id LIMIT ${LISTED_REPLAYS}
    ) AS own, LATERAL (
      SELECT count(*) FILTER (WHERE p.next_offset >= p.end_offset)::int AS done,
        coalesce(sum(CASE WHEN p.next_offset >= p.end_offset THEN 1
          ELSE (p.next_offset - coalesce(p.begin_offset, p.next_offset))::float8 / (p.end_offset - p.begin_offset) END
        ), 0)::float8 / ${partitions}::int AS progress
      FROM positions AS p
      WHERE (p.organization, p.project, p.endpoint_id, p.replay_id)
        = (own.organization, own.project, own.endpoint_id, own.replay_id)
    ) AS place
    ORDER BY own.requested_at DESC, own.replay_id`)
}

const NO_DELIVERIES: ReplayCounts = { deliveries: 0, pending: 0, failed: 0 }

/** Describes a replay. `partitions`: their number. */
export function replayOf(row: ReplayRow, partitions: number, counts = NO_DELIVERIES): WebhookReplay {
  const { replayId, from, to, events, requestedAt, progress, donePartitions } = row
  const { deliveries, pending, failed } = counts
  return {
    replayId,
    from: from.toISOString(),
    to: to.toISOString(),
    ...(events && { events }),
    requestedAt: requestedAt.toISOString(),
    status: donePartitions >= partitions && pending === 0 ? 'complete' : 'running',
    progress: Math.min(1, progress),
    deliveries,
    pending,
    failed,
  }
}

interface ReplayOptions {
  readonly partitions: number
  readonly now: Date
}

/**
 * Asks for a replay. The partitions begin it soon. Of calls at the same time, more may be refused than necessary. Complete replays before the
 * latest ones are forgotten: ticks look for partitions that have not begun one.
 */
export async function beginReplay(
  db: Db,
  { organization, project, endpointId, from, to, events }: ReplayCommand,
  { partitions, now }: ReplayOptions,
): Promise<WebhookReplayBegun | typeof TOO_MANY_REPLAYS> {
  const replayId = randomUUID()
  const requestedAt = now.toISOString()
  const toAt = to !== undefined && Date.parse(to) < now.getTime() ? to : requestedAt
  const isOf = isOfEndpoint({ organization, project, endpointId })
  const isComplete = completeIn(partitions)
  const unfinished = sql`(SELECT count(*)::int FROM replays AS own WHERE ${isOf} AND NOT (${isComplete}))`
  await db.$executeRaw(sql`
    WITH old AS MATERIALIZED (
      SELECT * FROM replays AS own WHERE ${isOf} ORDER BY requested_at DESC, replay_id OFFSET ${KEPT_REPLAYS - 1}
    ), gone AS (
      DELETE FROM replays USING old AS own WHERE replays.replay_id = own.replay_id AND ${isComplete}
      RETURNING own.organization, own.project, own.endpoint_id, own.replay_id
    )
    DELETE FROM positions AS own USING gone
    WHERE (own.organization, own.project, own.endpoint_id, own.replay_id)
      = (gone.organization, gone.project, gone.endpoint_id, gone.replay_id)`)
  const begun = await db.$executeRaw(sql`
    INSERT INTO replays (replay_id, organization, project, endpoint_id, from_at, to_at, events, requested_at)
    SELECT ${replayId}::uuid, ${organization}, ${project}, ${endpointId}, ${from}::timestamptz, ${toAt}::timestamptz,
      ${events ? JSON.stringify(events) : null}::jsonb, ${requestedAt}::timestamptz
    WHERE ${unfinished} < ${MAX_UNFINISHED_REPLAYS}::int`)
  if (begun === 0) return TOO_MANY_REPLAYS
  // Calls at the same time do not see each other before.
  const taken = await db.$executeRaw(sql`
    DELETE FROM replays WHERE replay_id = ${replayId}::uuid AND ${unfinished} > ${MAX_UNFINISHED_REPLAYS}::int`)
  return taken === 0 ? { replayId } : TOO_MANY_REPLAYS
}

/** The condition that the replay `own` has read its part of the log, and has no pending delivery. */
function completeIn(partitions: number): Sql {
  return sql`(
      SELECT count(*) FROM positions AS p
      WHERE (p.organization, p.project, p.endpoint_id, p.replay_id)
          = (own.organization, own.project, own.endpoint_id, own.replay_id)
        AND p.next_offset >= p.end_offset
    ) >= ${partitions}::int
    AND ${hasNothingPending('own')}`
}

/** The condition that a row of replays is complete, and was asked for before an instant. Partitions are those of the endpoint's live stream. */
export function isOldReplay(before: string): Sql {
  return sql`
    replays.requested_at < ${before}::timestamptz
    AND NOT EXISTS (
      SELECT FROM positions AS live
      WHERE (live.organization, live.project, live.endpoint_id, live.replay_id)
          = (replays.organization, replays.project, replays.endpoint_id, ${NO_REPLAY})
        AND NOT EXISTS (
          SELECT FROM positions AS own
          WHERE (own.organization, own.project, own.endpoint_id, own.replay_id, own.partition)
              = (replays.organization, replays.project, replays.endpoint_id, replays.replay_id, live.partition)
            AND own.next_offset >= own.end_offset))
    AND ${hasNothingPending('replays')}`
}

/** The condition that no delivery of the replay `alias` is pending. */
function hasNothingPending(alias: string): Sql {
  return sql`NOT EXISTS (
      SELECT FROM deliveries AS d
      WHERE d.replay_id = ${raw(alias)}.replay_id AND d.replay_id <> ${NO_REPLAY} AND d.status = 'pending')`
}
