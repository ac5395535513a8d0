import { randomUUID } from 'node:crypto'
import type { EndpointRef } from '@nextvisit/catalog'
import {
  MAX_PENDING_TESTS,
  MAX_TESTS_A_DAY,
  TOO_MANY_TESTS,
  TOO_MANY_TESTS_A_DAY,
  type Webhook,
  type WebhookDeliveryBegun,
  type WebhookPayload,
} from '@nextvisit/contracts'
import { type Db, sql } from '@nextvisit/database'
import { LIVE_STREAM } from '@nextvisit/domain'
import { TEST_DUE_AT } from './sending/due-turns.ts'
import { isOfEndpoint } from './tables.ts'

/** Its owner sends tests. Each topic has it. */
const PARTITION_OF_TESTS = 0
/** Bounds the locks of a statement. */
const TURNS_AT_ONCE = 5_000
const DAY_MS = 86_400_000

/**
 * Writes a delivery of the type `webhook.test`, which is attempted once, also if the endpoint is disabled. Each is of a user of its own, so
 * that none waits for another.
 */
export async function testEndpoint(
  db: Db,
  endpoint: EndpointRef,
  now: Date,
): Promise<WebhookDeliveryBegun | typeof TOO_MANY_TESTS | typeof TOO_MANY_TESTS_A_DAY> {
  const { organization, project, endpointId } = endpoint
  const id = randomUUID()
  const timestamp = now.toISOString()
  const data = { organization, project, endpointId }
  const body = JSON.stringify({ type: 'webhook.test', timestamp, data } satisfies WebhookPayload<'webhook.test'>)
  const yesterday = new Date(now.getTime() - DAY_MS)
  const [before] = await db.$queryRaw<{ readonly pending: number; readonly ofDay: number }[]>(sql`
    WITH pending AS MATERIALIZED (
      SELECT FROM turns
      WHERE partition = ${PARTITION_OF_TESTS} AND ${isOfEndpoint(endpoint)} AND replay_id = ${LIVE_STREAM}::uuid
        AND next_at = ${TEST_DUE_AT}::timestamptz
      LIMIT ${MAX_PENDING_TESTS}
    ), of_day AS MATERIALIZED (
      SELECT FROM deliveries
      WHERE ${isOfEndpoint(endpoint)} AND type = 'webhook.test' AND created_at > ${yesterday}::timestamptz
      LIMIT ${MAX_TESTS_A_DAY}
    ), test AS (
      INSERT INTO deliveries (delivery_id, organization, project, endpoint_id, replay_id, partition, source_offset, user_id,
        webhook_id, type, at, body, capture, status, attempts, round, created_at, pending_since)
      SELECT ${id}::uuid, ${organization}, ${project}, ${endpointId}, ${LIVE_STREAM}::uuid, ${PARTITION_OF_TESTS}, 0,
        ${id}::uuid, ${id}::uuid, 'webhook.test', ${timestamp}::timestamptz, ${body}, '{}', 'pending', 0, 0,
        ${timestamp}::timestamptz, ${timestamp}::timestamptz
      WHERE (SELECT count(*) FROM pending) < ${MAX_PENDING_TESTS}::int
        AND (SELECT count(*) FROM of_day) < ${MAX_TESTS_A_DAY}::int
      RETURNING organization, project, endpoint_id, replay_id, user_id, partition
    ), turn AS (
      INSERT INTO turns (organization, project, endpoint_id, replay_id, user_id, partition, next_at)
      SELECT test.*, ${TEST_DUE_AT}::timestamptz FROM test
    )
    SELECT (SELECT count(*)::int FROM pending) AS pending, (SELECT count(*)::int FROM of_day) AS "ofDay"`)
  const { pending, ofDay } = before ?? { pending: 0, ofDay: 0 }
  if (ofDay >= MAX_TESTS_A_DAY) return TOO_MANY_TESTS_A_DAY
  return pending >= MAX_PENDING_TESTS ? TOO_MANY_TESTS : { deliveryId: id }
}

/** Enables an endpoint that a 410 or five days of failures have disabled. Its deliveries are due at once. `partitions`: their number. */
export async function enableEndpoint(
  db: Db,
  endpoint: EndpointRef & Pick<Webhook, 'addedAt'>,
  { now, partitions }: { readonly now: Date; readonly partitions: number },
): Promise<void> {
  const enabled = await db.$executeRaw(sql`
    UPDATE endpoints SET disabled_at = NULL, because = NULL, failing_since = NULL
    WHERE ${isOfEndpoint(endpoint)} AND added_at = ${endpoint.addedAt}::timestamptz AND disabled_at IS NOT NULL`)
  const numbers = Array.from({ length: partitions }, (_, partition) => partition)
  for (let moved = enabled === 0 ? 0 : TURNS_AT_ONCE; moved === TURNS_AT_ONCE; ) {
    moved = await db.$executeRaw(sql`
      WITH late AS MATERIALIZED (
        SELECT organization, project, user_id, endpoint_id, replay_id FROM turns
        WHERE partition = ANY(${numbers}::int[]) AND next_at > ${now}::timestamptz
          AND ${isOfEndpoint(endpoint)}
        LIMIT ${TURNS_AT_ONCE} FOR UPDATE SKIP LOCKED
      )
      UPDATE turns SET next_at = ${now}::timestamptz FROM late
      WHERE (turns.organization, turns.project, turns.endpoint_id, turns.replay_id, turns.user_id)
        = (late.organization, late.project, late.endpoint_id, late.replay_id, late.user_id)`)
  }
}
