import { randomUUID } from 'node:crypto'
import type { EndpointRef } from '@nextvisit/catalog'
import {
  MAX_REPLAYS_KEPT,
  MAX_UNFINISHED_REPLAYS,
  type ReplayCommand,
  TOO_MANY_REPLAYS,
  TOO_MANY_REPLAYS_KEPT,
  type WebhookEvent,
  type WebhookReplay,
  type WebhookReplayBegun,
} from '@nextvisit/contracts'
import { type Db, sql, type Sql } from '@nextvisit/database'
import { NO_REPLAY, type ReplayCounts } from './count-deliveries.ts'
import { endpoints, isOfEndpoint } from './tables.ts'

/** Number of replays that an endpoint lists. */
const LISTED_REPLAYS = 10
/** Deliveries are kept this long after their end, and replays after they were asked for. */
const KEPT_MS = 30 * 86_400_000

/** Of calls at the same time, one takes the next number, and the others decide again: few succeed before too many replays are unfinished. */
const MAX_DECISIONS = 2 * MAX_UNFINISHED_REPLAYS

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
      ORDER BY number DESC LIMIT ${LISTED_REPLAYS}
    ) AS own, LATERAL (
      SELECT count(*) FILTER (WHERE p.next_offset >= p.end_offset)::int AS done,
        coalesce(sum(CASE WHEN p.next_offset >= p.end_offset THEN 1
          ELSE (p.next_offset - coalesce(p.begin_offset, p.next_offset))::float8 / (p.end_offset - p.begin_offset) END
        ), 0)::float8 / ${partitions}::int AS progress
      FROM positions AS p
      WHERE (p.organization, p.project, p.endpoint_id, p.replay_id)
        = (own.organization, own.project, own.endpoint_id, own.replay_id)
    ) AS place
    ORDER BY own.number DESC`)
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

/** Asks for a replay. The partitions begin it soon. Of calls at the same time, one after the other is decided. */
export async function beginReplay(
  db: Db,
  { organization, project, endpointId, from, to, events }: ReplayCommand,
  { partitions, now }: ReplayOptions,
): Promise<WebhookReplayBegun | typeof TOO_MANY_REPLAYS | typeof TOO_MANY_REPLAYS_KEPT> {
  const replayId = randomUUID()
  const requestedAt = now.toISOString()
  const unplaced = Array.from({ length: partitions }, (_, partition) => partition)
  const toAt = to !== undefined && Date.parse(to) < now.getTime() ? to : requestedAt
  const isOf = isOfEndpoint({ organization, project, endpointId })
  const unfinished = sql`(SELECT count(*)::int FROM replays WHERE ${isOf} AND NOT (${IS_COMPLETE}))`
  const kept = sql`(SELECT count(*)::int FROM replays WHERE ${isOf} AND requested_at >= ${keptSince(now)}::timestamptz)`
  for (let nth = 0; nth < MAX_DECISIONS; nth += 1) {
    const begun = await db.$executeRaw(sql`
      INSERT INTO replays
        (replay_id, organization, project, endpoint_id, number, from_at, to_at, events, requested_at, unplaced)
      SELECT ${replayId}::uuid, ${organization}, ${project}, ${endpointId},
        coalesce((SELECT max(number) FROM replays WHERE ${isOf}), 0) + 1, ${from}::timestamptz, ${toAt}::timestamptz,
        ${events ? JSON.stringify(events) : null}::jsonb, ${requestedAt}::timestamptz, ${unplaced}::bigint[]
      WHERE ${unfinished} < ${MAX_UNFINISHED_REPLAYS}::int AND ${kept} < ${MAX_REPLAYS_KEPT}::int
      ON CONFLICT (organization, project, endpoint_id, number) DO NOTHING`)
    if (begun > 0) return { replayId }
    const [counts] = await db.$queryRaw<{ unfinished: number; kept: number }[]>(
      sql`SELECT ${unfinished} AS unfinished, ${kept} AS kept`,
    )
    if (counts && counts.kept >= MAX_REPLAYS_KEPT) return TOO_MANY_REPLAYS_KEPT
    // Otherwise, another call has taken the number.
    if (counts && counts.unfinished >= MAX_UNFINISHED_REPLAYS) break
  }
  return TOO_MANY_REPLAYS
}

/** Returns an instant: replays that were asked for before it, and deliveries that have ended before it, are old. */
export function keptSince(instant: Date): string {
  return new Date(instant.getTime() - KEPT_MS).toISOString()
}

/** The condition that a row of replays has read its part of the log, and has no pending delivery. */
const IS_COMPLETE = sql`(
    replays.unplaced = '{}'
    AND NOT EXISTS (
      SELECT FROM positions AS own
      WHERE (own.organization, own.project, own.endpoint_id, own.replay_id)
          = (replays.organization, replays.project, replays.endpoint_id, replays.replay_id)
        AND own.next_offset < own.end_offset)
    AND NOT EXISTS (
      SELECT FROM deliveries AS d
      WHERE d.replay_id = replays.replay_id AND d.replay_id <> ${NO_REPLAY} AND d.status = 'pending'))`

/** The condition that a row of replays is complete, and was asked for before an instant. */
export function isOldReplay(before: string): Sql {
  return sql`replays.requested_at < ${before}::timestamptz AND ${IS_COMPLETE}`
}
