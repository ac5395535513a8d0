import { randomUUID } from 'node:crypto'
import {
  type EndpointsQuery,
  MAX_COUNTED_DELIVERIES,
  MAX_UNFINISHED_REPLAYS,
  type ReplayCommand,
  TOO_MANY_REPLAYS,
  type WebhookEvent,
  type WebhookReplay,
  type WebhookReplayBegun,
} from '@nextvisit/contracts'
import { type Db, raw, sql, type Sql } from '@nextvisit/database'
import { LIVE_STREAM } from '@nextvisit/domain'

/** Number of replays that an endpoint lists. */
const LISTED_REPLAYS = 10
/** Number of replays of an endpoint that are remembered, beside those that are not complete. */
const KEPT_REPLAYS = 100
/** In the text of the statement, so that Postgres uses the index of replays. */
const NO_REPLAY = raw(`'${LIVE_STREAM}'::uuid`)

interface ReplayRow {
  readonly endpointId: string
  readonly replayId: string
  readonly from: Date
  readonly to: Date
  readonly events: WebhookEvent[] | null
  readonly requestedAt: Date
  readonly progress: number
  readonly donePartitions: number
  readonly deliveries: number
  readonly pending: number
  readonly failed: number
}

/** Counts the deliveries of the replay `own` that meet a condition. */
const count = (condition: Sql) => sql`
  SELECT count(*)::int FROM (
    SELECT FROM deliveries AS d WHERE d.replay_id = own.replay_id AND d.replay_id <> ${NO_REPLAY} AND ${condition}
    LIMIT ${MAX_COUNTED_DELIVERIES}
  ) AS counted`

/** Reads the latest replays of endpoints, newest first. */
export async function readReplays(
  db: Db,
  { organization, project }: EndpointsQuery,
  { endpointIds, partitions }: { readonly endpointIds: readonly string[]; readonly partitions: number },
): Promise<ReadonlyMap<string, readonly WebhookReplay[]>> {
  const rows = await db.$queryRaw<ReplayRow[]>(sql`
    SELECT asked.endpoint_id AS "endpointId", own.replay_id AS "replayId", own.from_at AS "from", own.to_at AS "to",
      own.events, own.requested_at AS "requestedAt", place.progress, place.done AS "donePartitions",
      (${count(sql`TRUE`)}) AS deliveries, (${count(sql`d.status = 'pending'`)}) AS pending,
      (${count(sql`d.status = 'failed'`)}) AS failed
    FROM unnest(${[...endpointIds]}::text[]) AS asked (endpoint_id), LATERAL (
      SELECT * FROM replays
      WHERE (organization, project, endpoint_id) = (${organization}, ${project}, asked.endpoint_id)
      ORDER BY requested_at DESC, replay_id LIMIT ${LISTED_REPLAYS}
    ) AS own, LATERAL (
      SELECT count(*) FILTER (WHERE p.next_offset >= p.end_offset)::int AS done,
        coalesce(sum(CASE WHEN p.next_offset >= p.end_offset THEN 1
          ELSE (p.next_offset - coalesce(p.begin_offset, p.next_offset))::float8 / (p.end_offset - p.begin_offset) END
        ), 0)::float8 / ${partitions}::int AS progress
      FROM positions AS p
      WHERE (p.organization, p.project, p.endpoint_id, p.replay_id)
        = (${organization}, ${project}, asked.endpoint_id, own.replay_id)
    ) AS place
    ORDER BY own.requested_at DESC, own.replay_id`)
  return new Map(
    [...Map.groupBy(rows, ({ endpointId }) => endpointId)].map(([endpointId, own]) => [
      endpointId,
      own.map((row) => replayOf(row, partitions)),
    ]),
  )
}

function replayOf(row: ReplayRow, partitions: number): WebhookReplay {
  const { replayId, from, to, events, requestedAt, progress, donePartitions, deliveries, pending, failed } = row
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
 * latest ones are forgotten: ticks compare all of them with their positions.
 */
export async function beginReplay(
  db: Db,
  { organization, project, endpointId, from, to, events }: ReplayCommand,
  { partitions, now }: ReplayOptions,
): Promise<WebhookReplayBegun | typeof TOO_MANY_REPLAYS> {
  const replayId = randomUUID()
  const requestedAt = now.toISOString()
  const toAt = to !== undefined && Date.parse(to) < now.getTime() ? to : requestedAt
  const isOf = sql`(own.organization, own.project, own.endpoint_id) = (${organization}, ${project}, ${endpointId})`
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
    AND NOT EXISTS (
      SELECT FROM deliveries AS d
      WHERE d.replay_id = own.replay_id AND d.replay_id <> ${NO_REPLAY} AND d.status = 'pending')`
}
