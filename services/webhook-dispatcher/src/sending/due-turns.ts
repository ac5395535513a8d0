import type { EndpointRef } from '@nextvisit/catalog'
import type { WebhookType } from '@nextvisit/contracts'
import { type Db, sql } from '@nextvisit/database'
import { failingSinceOf } from '../failing-since.ts'
import { turns as turnsTable } from '../tables.ts'

/** A user with a pending delivery to an endpoint. */
export interface Turn extends EndpointRef {
  readonly replayId: string
  readonly userId: string
  readonly partition: number
}

/** Turns of tests are due at this instant, so that they come first, and also if the endpoint is disabled. */
export const TEST_DUE_AT = new Date(0)

/** The health of an endpoint, as Postgres has it. */
export interface EndpointHealth {
  readonly addedAt: Date
  readonly disabledAt: Date | null
  /** The first failed attempt since the last delivery or a long pause. */
  readonly failingSince: Date | null
}

export interface ActiveEndpoint extends EndpointRef {
  /** Its live stream and replays with a turn. */
  readonly replayIds: readonly string[]
  /** Absent: ticks have not met the endpoint yet. */
  readonly health: EndpointHealth | undefined
}

/** Finds the endpoints with a turn in these partitions. Reads one row of each stream, however many users wait. */
export async function readActiveEndpoints(
  db: Db,
  partitions: readonly number[],
  now: Date,
): Promise<readonly ActiveEndpoint[]> {
  const rows = await db.$queryRaw<
    (EndpointRef & { replayIds: string[]; addedAt: Date | null; disabledAt: Date | null; failingSince: Date | null })[]
  >(sql`
    WITH RECURSIVE active AS (
      SELECT owned.partition, first.* FROM unnest(${[...partitions]}::int[]) AS owned (partition), LATERAL (
        SELECT organization, project, endpoint_id, replay_id FROM turns WHERE turns.partition = owned.partition
        ORDER BY organization, project, endpoint_id, replay_id LIMIT 1
      ) AS first
      UNION ALL
      SELECT active.partition, next.* FROM active, LATERAL (
        SELECT organization, project, endpoint_id, replay_id FROM turns
        WHERE turns.partition = active.partition AND (organization, project, endpoint_id, replay_id)
          > (active.organization, active.project, active.endpoint_id, active.replay_id)
        ORDER BY organization, project, endpoint_id, replay_id LIMIT 1
      ) AS next
    )
    SELECT organization, project, endpoint_id AS "endpointId", own.replay_ids AS "replayIds", added_at AS "addedAt",
      disabled_at AS "disabledAt", ${failingSinceOf('endpoints', now)} AS "failingSince"
    FROM (
      SELECT organization, project, endpoint_id, array_agg(DISTINCT replay_id) AS replay_ids FROM active
      GROUP BY organization, project, endpoint_id
    ) AS own
    LEFT JOIN endpoints USING (organization, project, endpoint_id)`)
  return rows.map(({ addedAt, disabledAt, failingSince, ...active }) => ({
    ...active,
    health: addedAt ? { addedAt, disabledAt, failingSince } : undefined,
  }))
}

export interface AskedTurns extends EndpointRef {
  readonly replayId: string
  /** Turns that are due until then. */
  readonly until: Date
  readonly limit: number
}

/** Reads due turns of these streams, by the instant at which they were due. */
export async function readDueTurns(
  db: Db,
  partitions: readonly number[],
  asked: readonly AskedTurns[],
): Promise<readonly Turn[]> {
  if (asked.length === 0) return []
  return db.$queryRaw<Turn[]>(sql`
    SELECT asked.organization, asked.project, asked.endpoint_id AS "endpointId", asked.replay_id AS "replayId",
      due.user_id AS "userId", due.partition
    FROM unnest(
      ${asked.map(({ organization }) => organization)}::text[], ${asked.map(({ project }) => project)}::text[],
      ${asked.map(({ endpointId }) => endpointId)}::text[], ${asked.map(({ replayId }) => replayId)}::uuid[],
      ${asked.map(({ until }) => until)}::timestamptz[], ${asked.map(({ limit }) => limit)}::int[]
    ) AS asked (organization, project, endpoint_id, replay_id, until, max), LATERAL (
      SELECT own.* FROM unnest(${[...partitions]}::int[]) AS owned (partition), LATERAL (
        SELECT user_id, turns.partition, next_at FROM turns
        WHERE turns.partition = owned.partition
          AND (turns.organization, turns.project, turns.endpoint_id, turns.replay_id)
            = (asked.organization, asked.project, asked.endpoint_id, asked.replay_id)
          AND next_at <= asked.until
        ORDER BY next_at LIMIT asked.max
      ) AS own
      ORDER BY next_at LIMIT asked.max
    ) AS due`)
}

/** Larger bodies are in memory only while they are sent. */
export const SMALL_BODY_BYTES = 16_384

export interface PendingDelivery {
  readonly deliveryId: string
  readonly webhookId: string
  readonly type: WebhookType
  /** Absent: it has more than {@link SMALL_BODY_BYTES}, and is read when it is sent. */
  readonly body: string | undefined
  readonly bodyBytes: number
  /** Members that the body lacks. */
  readonly capture: readonly string[]
  /** Attempts since the delivery was created or retried. */
  readonly round: number
  readonly createdAt: Date
  /** Of the record, if its trace is sampled. */
  readonly traceparent: string | undefined
}

/** Reads the first pending delivery of each turn, in their order. undefined: there is none. */
export async function readFirstDeliveries(
  db: Db,
  turns: readonly Turn[],
): Promise<readonly (PendingDelivery | undefined)[]> {
  if (turns.length === 0) return []
  const rows = await db.$queryRaw<(PendingDelivery & { readonly deliveryId: string | null })[]>(sql`
    SELECT delivery_id AS "deliveryId", webhook_id AS "webhookId", type, capture, round, created_at AS "createdAt", traceparent,
      CASE WHEN octet_length(body) <= ${SMALL_BODY_BYTES} THEN body END AS body, octet_length(body) AS "bodyBytes"
    FROM ${turnsTable.source('asked', turns)}
    LEFT JOIN LATERAL (
      SELECT * FROM deliveries AS own
      WHERE (own.organization, own.project, own.endpoint_id, own.replay_id, own.user_id)
          = (asked.organization, asked.project, asked.endpoint_id, asked.replay_id, asked.user_id)
        AND own.status = 'pending'
      ORDER BY source_offset LIMIT 1
    ) AS first ON TRUE
    ORDER BY asked.position`)
  return rows.map((row) =>
    row.deliveryId === null
      ? undefined
      : { ...row, body: row.body ?? undefined, traceparent: row.traceparent ?? undefined },
  )
}

/** Reads the body of a delivery. undefined: it is deleted. */
export async function readBody(db: Db, deliveryId: string): Promise<string | undefined> {
  const [row] = await db.$queryRaw<{ readonly body: string }[]>(
    sql`SELECT body FROM deliveries WHERE delivery_id = ${deliveryId}::uuid`,
  )
  return row?.body
}

/** Returns false for a delivery that has ended, or that is deleted. */
export async function isPending(db: Db, deliveryId: string): Promise<boolean> {
  const rows = await db.$queryRaw<unknown[]>(
    sql`SELECT FROM deliveries WHERE delivery_id = ${deliveryId}::uuid AND status = 'pending'`,
  )
  return rows.length > 0
}
