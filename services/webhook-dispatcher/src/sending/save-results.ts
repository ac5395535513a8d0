import type { EndpointRef } from '@nextvisit/catalog'
import { type Sql, sql } from '@nextvisit/database'
import { failingSinceOf } from '../failing-since.ts'
import { endpoints, TURN_KEY, turns as turnsTable } from '../tables.ts'
import type { Turn } from './due-turns.ts'
import type { AttemptResult } from './send-request.ts'

/** Attempts that fail for this long, without a success and without a long pause, disable an endpoint. */
export const DISABLED_AFTER_MS = 5 * 86_400_000

/** Attempts of a delivery that are kept, and shown. */
const MAX_ATTEMPTS_KEPT = 100

/** A finished attempt, and its effect on the delivery. */
export interface FinishedAttempt {
  readonly deliveryId: string
  readonly at: Date
  readonly result: AttemptResult
  readonly status: 'pending' | 'delivered' | 'failed'
  /** It is one of the round, after whose last one the delivery fails. */
  readonly countsInRound: boolean
}

/** The end of a turn's work in this process. */
export interface TurnResult {
  readonly turn: Turn
  /** Absent: nothing was sent. */
  readonly attempt?: FinishedAttempt
  /** The next attempt. Absent: as before. */
  readonly nextAt?: Date
  /** A delivery whose answers do not exist. It fails: the erasure of its user deletes it, or the collector may get them later. */
  readonly gone?: string
}

/** What attempts tell about the health of an endpoint. */
export interface HealthChange extends EndpointRef {
  readonly addedAt: string
  /** The last delivery. */
  readonly deliveredAt?: Date | undefined
  /** The first failed attempt since it. */
  readonly failingSince?: Date | undefined
  /** The endpoint has answered 410. */
  readonly goneAt?: Date | undefined
}

export const BECAUSE_GONE = 'It answered 410 (Gone).'
export const BECAUSE_FAILING = 'No delivery has succeeded for five days.'

/**
 * Returns the statements that save results in one transaction. It locks turns, then deliveries: an erasure or a fold that changes the
 * same user comes before or after it. Rows that were deleted meanwhile stay deleted.
 */
export function saveResults(
  results: readonly TurnResult[],
  health: readonly HealthChange[],
  now: Date,
): readonly Sql[] {
  const turns = results.map(({ turn }) => turn)
  const attempts = results.flatMap(({ attempt }) => attempt ?? [])
  const gone = results.flatMap((result) => result.gone ?? [])
  const moved = results.flatMap(({ turn, nextAt }) => (nextAt ? { ...turn, nextAt: nextAt.toISOString() } : []))
  return [
    lockTurns(turns),
    lockDeliveries([...attempts.map(({ deliveryId }) => deliveryId), ...gone]),
    ...(attempts.length > 0 ? [insertAttempts(attempts), endDeliveries(attempts, now)] : []),
    ...(gone.length > 0
      ? [
          sql`
          UPDATE deliveries SET status = 'failed', ended_at = ${now}::timestamptz
          WHERE delivery_id = ANY(${gone}::uuid[]) AND status = 'pending'`,
        ]
      : []),
    endTurns(turns),
    ...turnsTable.update(moved, ['nextAt']),
    ...(health.length > 0 ? [lockEndpoints(health), changeHealth(health, now)] : []),
  ]
}

function lockTurns(turns: readonly Turn[]): Sql {
  return sql`SELECT 1 FROM turns JOIN ${turnsTable.source('asked', turns)} USING (${TURN_KEY}) ORDER BY ${TURN_KEY} FOR UPDATE OF turns`
}

function lockDeliveries(ids: readonly string[]): Sql {
  return sql`SELECT 1 FROM deliveries WHERE delivery_id = ANY(${[...ids]}::uuid[]) ORDER BY delivery_id FOR UPDATE`
}

function insertAttempts(attempts: readonly FinishedAttempt[]): Sql {
  return sql`
    INSERT INTO attempts (delivery_id, number, at, duration_ms, outcome, http_status, error, response)
    SELECT own.delivery_id, own.attempts + 1, done.at, done.duration_ms, done.outcome, done.http_status, done.error,
      done.response
    FROM unnest(
      ${attempts.map(({ deliveryId }) => deliveryId)}::uuid[], ${attempts.map(({ at }) => at)}::timestamptz[],
      ${attempts.map(({ result }) => result.durationMs)}::int[], ${attempts.map(({ result }) => result.outcome)}::text[],
      ${attempts.map(({ result }) => result.httpStatus ?? null)}::int[],
      ${attempts.map(({ result }) => result.error ?? null)}::text[],
      ${attempts.map(({ result }) => result.response ?? null)}::text[]
    ) AS done (delivery_id, at, duration_ms, outcome, http_status, error, response)
    JOIN deliveries AS own USING (delivery_id) WHERE own.status = 'pending'
    ON CONFLICT (delivery_id, number) DO NOTHING`
}

/** Only the latest attempts are kept, however often a delivery is sent again by hand: each has up to 4 KB of a response. */
function endDeliveries(attempts: readonly FinishedAttempt[], now: Date): Sql {
  return sql`
    WITH ended AS (
      UPDATE deliveries AS own SET attempts = own.attempts + 1, round = own.round + done.counted, status = done.status,
        ended_at = CASE WHEN done.status <> 'pending' THEN ${now}::timestamptz END
      FROM unnest(
        ${attempts.map(({ deliveryId }) => deliveryId)}::uuid[], ${attempts.map(({ status }) => status)}::text[],
        ${attempts.map(({ countsInRound }) => Number(countsInRound))}::int[]
      ) AS done (delivery_id, status, counted)
      WHERE own.delivery_id = done.delivery_id AND own.status = 'pending'
      RETURNING own.delivery_id, own.attempts
    )
    DELETE FROM attempts USING ended
    WHERE ended.attempts > ${MAX_ATTEMPTS_KEPT}::int
      AND attempts.delivery_id = ended.delivery_id AND attempts.number = ended.attempts - ${MAX_ATTEMPTS_KEPT}::int`
}

/** Deletes turns without a pending delivery. The lock of the turn makes a fold wait, or its delivery visible. */
function endTurns(turns: readonly Turn[]): Sql {
  return sql`
    DELETE FROM turns USING ${turnsTable.source('asked', turns)}
    WHERE (turns.organization, turns.project, turns.endpoint_id, turns.replay_id, turns.user_id)
        = (asked.organization, asked.project, asked.endpoint_id, asked.replay_id, asked.user_id)
      AND NOT EXISTS (
        SELECT FROM deliveries AS own
        WHERE (own.organization, own.project, own.endpoint_id, own.replay_id, own.user_id)
            = (asked.organization, asked.project, asked.endpoint_id, asked.replay_id, asked.user_id)
          AND own.status = 'pending'
      )`
}

function lockEndpoints(changes: readonly EndpointRef[]): Sql {
  return sql`
    SELECT 1 FROM endpoints JOIN ${endpoints.source('asked', changes)} USING (organization, project, endpoint_id)
    ORDER BY organization, project, endpoint_id FOR UPDATE OF endpoints`
}

/**
 * Changes the health of endpoints. The row of an endpoint that was removed and added again begins anew, and ignores what attempts to the
 * one before tell. Deliveries of a healthy endpoint change its row once a second at most, and failures once a minute.
 */
function changeHealth(changes: readonly HealthChange[], now: Date): Sql {
  const dueBefore = new Date(now.getTime() - DISABLED_AFTER_MS)
  const isFailing = sql`coalesce(
    CASE WHEN given.delivered_at IS NULL AND known.added_at = given.added_at THEN ${failingSinceOf('known', now)} END,
    given.failing_since
  )`
  return sql`
    WITH given AS (
      SELECT * FROM unnest(
        ${changes.map(({ organization }) => organization)}::text[], ${changes.map(({ project }) => project)}::text[],
        ${changes.map(({ endpointId }) => endpointId)}::text[], ${changes.map(({ addedAt }) => addedAt)}::timestamptz[],
        ${changes.map(({ deliveredAt }) => deliveredAt ?? null)}::timestamptz[],
        ${changes.map(({ failingSince }) => failingSince ?? null)}::timestamptz[],
        ${changes.map(({ goneAt }) => goneAt ?? null)}::timestamptz[]
      ) AS given (organization, project, endpoint_id, added_at, delivered_at, failing_since, gone_at)
    ), present AS (
      SELECT given.organization, given.project, given.endpoint_id, given.added_at,
        ${isFailing} AS failing_since, given.failing_since AS failed_at,
        CASE WHEN known.added_at = given.added_at THEN greatest(known.delivered_at, given.delivered_at)
          ELSE given.delivered_at END AS delivered_at,
        given.gone_at, ${isFailing} <= ${dueBefore}::timestamptz AS is_failing_long,
        CASE WHEN known.added_at = given.added_at THEN known.disabled_at END AS disabled_at,
        CASE WHEN known.added_at = given.added_at THEN known.because END AS because
      FROM given LEFT JOIN endpoints AS known USING (organization, project, endpoint_id)
      WHERE coalesce(known.added_at <= given.added_at, true) AND (
        known.added_at IS DISTINCT FROM given.added_at OR given.gone_at IS NOT NULL
        OR given.delivered_at >= coalesce(known.delivered_at, to_timestamp(0)) + interval '1 second'
        OR (known.failing_since IS NULL) <> (given.failing_since IS NULL)
        OR given.failing_since >= known.failed_at + interval '1 minute' OR ${isFailing} <= ${dueBefore}::timestamptz
      )
    )
    INSERT INTO endpoints (organization, project, endpoint_id, added_at, disabled_at, because, failing_since, failed_at, delivered_at)
    SELECT organization, project, endpoint_id, added_at,
      coalesce(disabled_at, gone_at, CASE WHEN is_failing_long THEN ${now}::timestamptz END),
      CASE WHEN disabled_at IS NOT NULL THEN because WHEN gone_at IS NOT NULL THEN ${BECAUSE_GONE}
        WHEN is_failing_long THEN ${BECAUSE_FAILING} END,
      failing_since, failed_at, delivered_at
    FROM present ORDER BY organization, project, endpoint_id
    ON CONFLICT (organization, project, endpoint_id) DO UPDATE SET added_at = excluded.added_at,
      disabled_at = excluded.disabled_at, because = excluded.because, failing_since = excluded.failing_since,
      failed_at = excluded.failed_at, delivered_at = excluded.delivered_at`
}
