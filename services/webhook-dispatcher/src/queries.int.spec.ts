import { randomUUID } from 'node:crypto'
import { staticCatalog } from '@nextvisit/catalog/test/static-catalog.ts'
import { TOPICS, WebhookDelivery, WebhookDeliveryDetail, WebhookEndpoint } from '@nextvisit/contracts'
import { organizationConfig } from '@nextvisit/contracts/fixtures'
import { type CommitDb, type NewRow, openCommitDb, sql } from '@nextvisit/database'
import { LIVE_STREAM } from '@nextvisit/domain'
import { countRowsRead, createTestDatabase, type TestDatabase } from '@nextvisit/testing'
import { afterAll, beforeAll, beforeEach, describe, expect, inject, it, onTestFinished } from 'vitest'
import { webhookDispatcher } from './consumer.ts'
import { readEndpoints, readUnhealthyEndpoints } from './queries.ts'
import { readDeliveries, readDelivery } from './read-deliveries.ts'
import { retryDelivery } from './retry-deliveries.ts'
import { beginReplay, keptSince } from './replays.ts'
import { attempts, deliveries, endpoints, positions, turns } from './tables.ts'
import { createPositions } from './ticks/new-positions.ts'
import { findWork, readRows } from './ticks/read-rows.ts'
import { deleteOldReplays } from './ticks/remove-rows.ts'

const PROJECT = { organization: 'acme', project: 'shop' } as const
const CRM = { ...PROJECT, endpointId: 'crm' } as const
const ADDED_AT = '2026-11-01T00:00:00.000Z'
const PARTITIONS = 2
const T0 = Date.parse('2026-11-02T10:00:00.000Z')
const at = (seconds: number) => new Date(T0 + seconds * 1_000).toISOString()
const now = new Date(T0 + 3_600_000)
const daysAgo = (count: number) => new Date(now.getTime() - count * 86_400_000).toISOString()
const uuid = (nth: number) => `00000000-0000-4000-8000-${String(nth).padStart(12, '0')}`
const [ADA, BOB] = [uuid(1), uuid(2)]

const webhook = { url: 'https://crm.example.com/hook', secret: 'sealed', addedAt: ADDED_AT }
const catalog = staticCatalog([
  organizationConfig({
    id: 'acme',
    projects: [
      {
        id: 'shop',
        webhooks: [
          { ...webhook, id: 'crm', events: ['form.answered', 'user.erased'], include: ['traits'] },
          { ...webhook, id: 'off', enabled: false },
        ],
      },
    ],
  }),
])

let database: TestDatabase
let db: CommitDb
beforeAll(async () => {
  database = await createTestDatabase(inject('databaseUrl'), webhookDispatcher)
  // Postgres counts the rows that a connection reads.
  db = openCommitDb({ url: database.url, schema: webhookDispatcher.schema, applicationName: 'spec', maxConnections: 1 })
})
beforeEach(async () => {
  await db.$executeRaw(sql`TRUNCATE endpoints, positions, replays, deliveries, turns, attempts, checkpoints`)
})
afterAll(async () => {
  await db?.$disconnect()
  await database?.drop()
})

type Delivery = NewRow<typeof deliveries>
let created = 0

/** Writes a delivery of ada to `crm`. `second`: when its record and it were created. */
async function givenDelivery(second: number, special: Partial<Delivery> = {}): Promise<string> {
  created += 1
  const row: Delivery = {
    ...CRM,
    deliveryId: uuid(1_000 + created),
    replayId: LIVE_STREAM,
    partition: 0,
    sourceOffset: second,
    userId: ADA,
    webhookId: randomUUID(),
    type: 'form.queued',
    at: at(second - 1),
    body: '{"type":"form.queued"}',
    capture: [],
    status: 'pending',
    attempts: 0,
    round: 0,
    createdAt: at(second),
    pendingSince: at(second),
    ...special,
  }
  for (const statement of deliveries.insert([row])) await db.$executeRaw(statement)
  return row.deliveryId
}

async function givenTurn(userId: string, nextAt: string): Promise<void> {
  const row = { ...CRM, replayId: LIVE_STREAM, userId, partition: 0, nextAt }
  for (const statement of turns.insert([row])) await db.$executeRaw(statement)
}

async function givenPosition(partition: number, special: Partial<NewRow<typeof positions>>): Promise<void> {
  const row = { ...CRM, replayId: LIVE_STREAM, partition, addedAt: ADDED_AT, nextOffset: 0, isLive: true, ...special }
  for (const statement of positions.insert([row])) await db.$executeRaw(statement)
}

async function givenHealth(special: Partial<NewRow<typeof endpoints>>): Promise<void> {
  for (const statement of endpoints.insert([{ ...CRM, addedAt: ADDED_AT, ...special }])) await db.$executeRaw(statement)
}

async function givenCheckpoints(...nextOffsets: readonly number[]): Promise<void> {
  for (const [partition, next] of nextOffsets.entries())
    await db.$executeRaw(sql`INSERT INTO checkpoints (projection, topic, partition, next_offset)
      VALUES ('webhook-dispatcher', ${TOPICS.formEvents}, ${partition}, ${next})`)
}

const readOf = (query: object = {}) =>
  readEndpoints(db, { ...PROJECT, ...query }, { catalog, partitions: PARTITIONS, now })

async function read() {
  const { webhooks: found } = await readOf()
  const [crm, off] = found.map((endpoint) => WebhookEndpoint.parse(endpoint))
  if (!crm || !off || found.length !== 2) throw new Error('The project has two endpoints')
  return { crm, off }
}

describe('the endpoints of a project', () => {
  it('are those of the workspace file, in its order', async () => {
    const { crm, off } = await read()
    expect(crm).toEqual({
      id: 'crm',
      url: webhook.url,
      events: ['form.answered', 'user.erased'],
      include: ['traits'],
      state: 'catching-up',
      addedAt: ADDED_AT,
      behind: 0,
      pending: 0,
      failed: 0,
      replays: [],
    })
    expect(off).toMatchObject({ id: 'off', state: 'disabled', because: 'The workspace file disables it.' })
    expect((await readOf({ endpointId: 'off' })).webhooks).toEqual([off])
    expect((await readOf({ project: 'other' })).webhooks).toEqual([])
  })

  it('are live once they are in every partition', async () => {
    await givenCheckpoints(100, 50)
    await givenPosition(0, {})
    expect((await read()).crm.state).toBe('catching-up')
    await givenPosition(1, { isLive: false, nextOffset: 20 })
    expect((await read()).crm).toMatchObject({ state: 'catching-up', behind: 30 })
    await db.$executeRaw(sql`UPDATE positions SET is_live = TRUE`)
    expect((await read()).crm).toMatchObject({ state: 'live', behind: 0 })
    // An endpoint with the same id that was removed.
    await db.$executeRaw(sql`UPDATE positions SET added_at = added_at - interval '1 day'`)
    expect((await read()).crm.state).toBe('catching-up')
  })

  it('have the health of their attempts, unless it is that of an endpoint before', async () => {
    const failing = { failingSince: at(1), failedAt: at(5) }
    await givenHealth({ disabledAt: at(5), because: 'It answered 410.', ...failing, deliveredAt: at(0) })
    expect((await read()).crm).toMatchObject({
      state: 'disabled',
      because: 'It answered 410.',
      disabledAt: at(5),
      failingSince: at(1),
      lastDeliveredAt: at(0),
    })
    await db.$executeRaw(sql`UPDATE endpoints SET failed_at = failed_at - interval '2 days'`)
    expect((await read()).crm).not.toHaveProperty('failingSince')
    await db.$executeRaw(sql`UPDATE endpoints SET added_at = added_at - interval '1 day'`)
    expect((await read()).crm).not.toHaveProperty('disabledAt')
  })

  it('count their deliveries, and name the one that has been pending for the longest time', async () => {
    await givenDelivery(3)
    await givenDelivery(2, { userId: BOB })
    await givenDelivery(1, { status: 'delivered', endedAt: at(1) })
    await givenDelivery(4, { status: 'failed', endedAt: at(4) })
    await givenDelivery(0, { endpointId: 'off' })
    const { crm, off } = await read()
    expect(crm).toMatchObject({ pending: 2, failed: 1, oldestPendingAt: at(2) })
    expect(off).toMatchObject({ pending: 1, failed: 0, oldestPendingAt: at(0) })
  })
})

const listed = async (special: Partial<Parameters<typeof readDeliveries>[1]> = {}) => {
  const page = await readDeliveries(db, { ...CRM, limit: 10, ...special })
  return { ...page, deliveries: page.deliveries.map((delivery) => WebhookDelivery.parse(delivery)) }
}
const idsOf = async (special: Partial<Parameters<typeof readDeliveries>[1]> = {}) =>
  (await listed(special)).deliveries.map(({ deliveryId }) => deliveryId)
const dueOf = async () =>
  (await listed()).deliveries.map(({ deliveryId, nextAttemptAt }) => [deliveryId, nextAttemptAt])

describe('the deliveries of an endpoint', () => {
  it('come in pages, newest first, also if several have the same time', async () => {
    const ids: string[] = []
    for (const [second, status] of [
      [1, 'failed'],
      [2, 'pending'],
      [2, 'delivered'],
      [2, 'pending'],
      [3, 'delivered'],
    ] as const) {
      ids.unshift(await givenDelivery(second, { status }))
    }
    const seen: string[] = []
    let after: string | null = null
    for (let page = 0; page < 3; page += 1) {
      const { deliveries: some, next } = await listed({ limit: 2, ...(after && { after }) })
      seen.push(...some.map(({ deliveryId }) => deliveryId))
      // A new one moves no page.
      await givenDelivery(10 + page)
      after = next
    }
    expect([seen, after]).toEqual([ids, null])
  })

  it('are filtered by status and user', async () => {
    const pending = await givenDelivery(1)
    const failed = await givenDelivery(2, { status: 'failed' })
    const ofBob = await givenDelivery(3, { status: 'failed', userId: BOB })
    await givenDelivery(4, { endpointId: 'off' })
    expect(await idsOf()).toEqual([ofBob, failed, pending])
    expect(await idsOf({ status: 'failed' })).toEqual([ofBob, failed])
    expect(await idsOf({ status: 'delivered' })).toEqual([])
    expect(await idsOf({ userId: ADA })).toEqual([failed, pending])
    expect(await idsOf({ userId: ADA, status: 'pending' })).toEqual([pending])
  })

  it('say when the first pending one of a user is attempted next', async () => {
    const second = await givenDelivery(2)
    const first = await givenDelivery(1)
    await givenTurn(ADA, at(60))
    expect(await dueOf()).toEqual([
      [second, undefined],
      [first, at(60)],
    ])
    await givenHealth({ disabledAt: at(5) })
    expect(await dueOf()).toEqual([
      [second, undefined],
      [first, undefined],
    ])
  })

  it('have their last attempt, and in detail all of them and what is sent', async () => {
    const replayId = randomUUID()
    const deliveryId = await givenDelivery(1, { attempts: 2, replayId, capture: ['traits'] })
    const failed = { deliveryId, at: at(2), durationMs: 5, outcome: 'refused', httpStatus: 500, response: 'Sorry' }
    const silent = { deliveryId, at: at(9), durationMs: 15_000, outcome: 'timeout', error: 'No response within 15 s' }
    const rows = [
      { ...failed, number: 1 },
      { ...silent, number: 2 },
    ]
    for (const statement of attempts.insert(rows)) await db.$executeRaw(statement)
    const { deliveryId: _, ...last } = silent
    expect((await listed()).deliveries).toMatchObject([{ deliveryId, replayId, userId: ADA, lastAttempt: last }])
    const detail = await readDelivery(db, { ...CRM, deliveryId })
    expect(WebhookDeliveryDetail.parse(detail)).toMatchObject({
      deliveryId,
      timestamp: at(0),
      attemptLog: [{ at: at(2), httpStatus: 500, response: 'Sorry' }, last],
    })
    expect(detail).not.toHaveProperty('body')
    await db.$executeRaw(sql`UPDATE deliveries SET capture = '{}'`)
    expect(await readDelivery(db, { ...CRM, deliveryId })).toMatchObject({ body: '{"type":"form.queued"}' })
    expect(await readDelivery(db, { ...CRM, endpointId: 'off', deliveryId })).toBeUndefined()
  })

  it('name no user if they are tests', async () => {
    await givenDelivery(1, { type: 'webhook.test' })
    const [test] = (await listed()).deliveries
    expect(test).not.toHaveProperty('userId')
    expect(test).not.toHaveProperty('replayId')
  })

  it('cost the same however many others there are', async () => {
    await db.$executeRaw(sql`
      INSERT INTO deliveries (delivery_id, organization, project, endpoint_id, replay_id, partition, source_offset,
        user_id, webhook_id, type, at, body, capture, status, attempts, round, created_at, pending_since)
      SELECT gen_random_uuid(), 'acme', 'shop', CASE WHEN nth % 2 = 0 THEN 'crm' ELSE 'off' END, ${LIVE_STREAM}::uuid, 0,
        nth, gen_random_uuid(), gen_random_uuid(), 'form.queued', now(), '{}', '{}',
        CASE WHEN nth < 100 THEN 'failed' WHEN nth < 200 THEN 'pending' ELSE 'delivered' END, 0, 0,
        ${at(0)}::timestamptz + nth * interval '1 ms', now()
      FROM generate_series(1, 20000) AS nth`)
    await db.$executeRaw(sql`ANALYZE deliveries`)
    const rowsRead = (query: object) =>
      countRowsRead(db, ['deliveries'], () => readDeliveries(db, { ...CRM, limit: 10, ...query }))
    expect(await rowsRead({})).toBeLessThan(200)
    expect(await rowsRead({ status: 'failed' })).toBeLessThan(100)
    expect(await rowsRead({ status: 'pending' })).toBeLessThan(100)
    expect(await rowsRead({ userId: ADA })).toBeLessThan(10)
    expect(await rowsRead({ after: `${at(5)}_${uuid(1)}` })).toBeLessThan(200)
    const ofEndpoints = await countRowsRead(db, ['deliveries'], read)
    expect(ofEndpoints, 'pending and failed ones').toBeLessThan(600)
  })
})

describe('the counts of an answer', () => {
  const crowd = Array.from({ length: 20 }, (_, nth) => ({ ...webhook, id: `crm-${nth}` }))
  const crowded = staticCatalog([organizationConfig({ id: 'acme', projects: [{ id: 'shop', webhooks: crowd }] })])

  it('end the sooner, the more endpoints and replays there are', async () => {
    await db.$executeRaw(sql`
      INSERT INTO replays (replay_id, organization, project, endpoint_id, number, from_at, to_at, requested_at, unplaced)
      SELECT lpad(nth::text, 32, '0')::uuid, 'acme', 'shop', 'crm-' || nth % 20, nth, now(), now(), now(), '{}' FROM generate_series(1, 200) AS nth`)
    await db.$executeRaw(sql`
      INSERT INTO deliveries (delivery_id, organization, project, endpoint_id, replay_id, partition, source_offset,
        user_id, webhook_id, type, at, body, capture, status, attempts, round, created_at, pending_since)
      SELECT gen_random_uuid(), 'acme', 'shop', 'crm-0', lpad('20', 32, '0')::uuid, 0, nth, gen_random_uuid(), gen_random_uuid(),
        'form.queued', now(), '{}', '{}', (ARRAY['delivered', 'failed', 'pending'])[1 + nth % 3], 0, 0, now(), now()
      FROM generate_series(1, 3000) AS nth`)
    await db.$executeRaw(sql`ANALYZE deliveries`)
    const readAll = () => readEndpoints(db, PROJECT, { catalog: crowded, partitions: PARTITIONS, now })
    const { webhooks, countedUpTo } = await readAll()
    expect(countedUpTo).toBe(113)
    const replay = webhooks[0]?.replays.find(({ deliveries: made }) => made > 0)
    expect(replay).toMatchObject({ status: 'running', deliveries: 113, pending: 113, failed: 113 })
    expect(webhooks[0]).toMatchObject({ pending: 113, failed: 113 })
    expect(webhooks[1]).toMatchObject({ pending: 0, failed: 0 })
    expect(await countRowsRead(db, ['deliveries'], readAll), 'four counts').toBeLessThan(600)
  })
})

const oldest = async () => (await read()).crm.oldestPendingAt
const unhealthy = () => readUnhealthyEndpoints(db, { catalog, now })

describe('the endpoints that need attention', () => {
  it('are disabled, have failed for ten minutes, or have a delivery pending for an hour', async () => {
    const failingSince = new Date(now.getTime() - 599_000).toISOString()
    await givenHealth({ failingSince, failedAt: now.toISOString() })
    expect(await unhealthy()).toEqual([])
    await givenDelivery(1)
    await givenDelivery(0, { status: 'failed' })
    expect(await unhealthy()).toEqual([])
    await db.$executeRaw(sql`UPDATE endpoints SET failing_since = ${at(1)}::timestamptz`)
    expect(await unhealthy()).toEqual([{ ...CRM, failingSince: at(1), pendingSince: at(1) }])
    await db.$executeRaw(sql`UPDATE endpoints SET failed_at = failed_at - interval '2 days'`)
    expect(await unhealthy()).toEqual([])
    await givenDelivery(0, { replayId: uuid(9), at: at(-86_400) })
    expect(await unhealthy()).toEqual([{ ...CRM, pendingSince: at(0) }])
    await db.$executeRaw(
      sql`UPDATE endpoints SET failing_since = NULL, disabled_at = ${at(2)}::timestamptz, because = 'It answered 410.'`,
    )
    expect(await unhealthy()).toMatchObject([{ ...CRM, disabledAt: at(2), because: 'It answered 410.' }])
  })

  it('do not lag since a delivery was created that is sent again by hand, but since then', async () => {
    await givenHealth({})
    const deliveryId = await givenDelivery(0, { status: 'failed' })
    const retriedAt = new Date(now.getTime() - 1_000)
    await retryDelivery(db, { ...CRM, deliveryId }, retriedAt)
    expect([await unhealthy(), await oldest()]).toEqual([[], retriedAt.toISOString()])
    // A retry of a pending delivery hides no age.
    await retryDelivery(db, { ...CRM, deliveryId }, now)
    expect(await oldest()).toBe(retriedAt.toISOString())
    // Nor does one of another delivery.
    await givenDelivery(0)
    expect([await unhealthy(), await oldest()]).toEqual([[{ ...CRM, pendingSince: at(0) }], at(0)])
  })

  it('are in the workspace file, which enables them', async () => {
    await givenHealth({ endpointId: 'off', disabledAt: at(1) })
    await givenHealth({ endpointId: 'removed', disabledAt: at(1) })
    await givenHealth({ disabledAt: at(1), addedAt: at(-1) })
    expect(await unhealthy()).toEqual([])
  })
})

const begin = (command = {}, by = db) =>
  beginReplay(by, { ...CRM, from: at(0), ...command }, { partitions: PARTITIONS, now })
async function begun(command = {}) {
  const answer = await begin(command)
  if (typeof answer === 'string') throw new Error(answer)
  return answer.replayId
}

describe('a replay', () => {
  it('ends now at the latest, and is listed with its progress', async () => {
    const replayId = await begun({ to: new Date(now.getTime() + 1_000).toISOString(), events: ['form.queued'] })
    const shown = {
      replayId,
      from: at(0),
      to: now.toISOString(),
      events: ['form.queued'],
      requestedAt: now.toISOString(),
    }
    const none = { deliveries: 0, pending: 0, failed: 0 }
    expect((await read()).crm.replays).toEqual([{ ...shown, status: 'running', progress: 0, ...none }])

    await givenPosition(0, { replayId, isLive: false, beginOffset: 100, nextOffset: 150, endOffset: 200 })
    await givenPosition(1, { replayId, isLive: false, beginOffset: 70, nextOffset: 70, endOffset: 70 })
    expect((await read()).crm.replays).toMatchObject([{ status: 'running', progress: 0.75 }])
    await givenDelivery(1, { replayId })
    await givenDelivery(2, { replayId, status: 'failed' })
    await givenDelivery(3, { replayId, status: 'delivered' })
    await givenDelivery(4, { status: 'failed' })
    await db.$executeRaw(sql`UPDATE positions SET next_offset = end_offset`)
    expect((await read()).crm.replays).toMatchObject([
      { status: 'running', progress: 1, deliveries: 3, pending: 1, failed: 1 },
    ])
    await db.$executeRaw(sql`UPDATE deliveries SET status = 'delivered'`)
    expect((await read()).crm.replays).toMatchObject([{ status: 'complete', deliveries: 3, pending: 0, failed: 0 }])
  })

  it('is refused while ten others of the endpoint are not complete, also if all are asked for at once', async () => {
    const callers = openCommitDb({ url: database.url, schema: webhookDispatcher.schema, applicationName: 'callers' })
    onTestFinished(() => callers.$disconnect())
    const answers = await Promise.all(Array.from({ length: 15 }, () => begin({ to: at(60) }, callers)))
    // None is refused that has begun, and none too many.
    expect(answers.filter((answer) => answer === 'too many replays')).toHaveLength(5)
    expect(await begin()).toBe('too many replays')
    expect(await begin({ endpointId: 'off' })).toHaveProperty('replayId')
    const [{ replayId, to } = { replayId: '' }] = (await read()).crm.replays
    expect(to).toBe(at(60))
    await givenRead(replayId)
    expect(await begin()).toHaveProperty('replayId')
    expect((await read()).crm.replays).toHaveLength(10)
  })

  it('is refused, although the latest ones are complete', async () => {
    for (let nth = 0; nth < 9; nth += 1) await begun()
    for (let nth = 1; nth <= 10; nth += 1) await givenRead(await begunAt(nth))
    await begunAt(11)
    expect(await begin()).toBe('too many replays')
  })

  it('is refused if 100 others of the endpoint were asked for within 30 days', async () => {
    const given = (requestedAt: string, count: number) =>
      db.$executeRaw(sql`
        INSERT INTO replays (replay_id, organization, project, endpoint_id, number, from_at, to_at, requested_at, unplaced)
        SELECT gen_random_uuid(), 'acme', 'shop', 'crm', (SELECT count(*) FROM replays) + nth, now(), now(),
          ${requestedAt}::timestamptz, '{}'
        FROM generate_series(1, ${count}::int) AS nth`)
    await given(daysAgo(31), 50)
    await given(daysAgo(29), 99)
    expect(await begin()).toHaveProperty('replayId')
    expect(await begin()).toBe('too many replays in 30 days')
    expect(await begin({ endpointId: 'off' })).toHaveProperty('replayId')
    await db.$executeRaw(sql`UPDATE replays SET requested_at = ${daysAgo(31)}::timestamptz WHERE number = 60`)
    expect(await begin()).toHaveProperty('replayId')
  })

  it('is forgotten 30 days later without deliveries, too, unless a partition has not read it, or a delivery is pending', async () => {
    const [before, unplaced, pending, complete] = [await begunAt(2), await begun(), await begun(), await begun()]
    const unread = await begun()
    await givenPlaces(unplaced, { partitions: 1 })
    await givenPlaces(unread, { nextOffset: 8 })
    for (const replayId of [before, pending, complete]) await givenRead(replayId)
    await givenDelivery(1, { replayId: pending })
    const deleteOld = async () =>
      db.executeAll(await deleteOldReplays(db, new Date(now.getTime() + 1_000).toISOString()))
    const kept = async () => {
      const rows = await db.$queryRaw<{ id: string }[]>(sql`SELECT replay_id AS id FROM replays`)
      return new Set(rows.map(({ id }) => id))
    }
    await deleteOld()
    expect(await kept()).toEqual(new Set([before, unplaced, unread, pending]))
    expect(await db.$queryRaw(sql`SELECT 1 FROM positions WHERE replay_id = ${complete}::uuid`)).toEqual([])
    await givenPosition(1, { replayId: unplaced, isLive: false, beginOffset: 0, nextOffset: 9, endOffset: 9 })
    await db.$executeRaw(sql`UPDATE replays SET unplaced = '{}'`)
    await db.$executeRaw(sql`UPDATE positions SET next_offset = end_offset`)
    await db.$executeRaw(sql`UPDATE deliveries SET status = 'failed'`)
    await deleteOld()
    expect(await kept()).toEqual(new Set([before]))
  })

  it('costs ticks nothing once their partition has read it', async () => {
    const [known, unread] = [await begun(), await begun()]
    await givenRead(known)
    await givenPosition(0, {})
    await givenPlaces(unread, { nextOffset: 8 })
    const rows = await readRows(db, 0)
    expect(rows.replays.map(({ replayId }) => replayId)).toEqual([unread])
    expect(new Set(rows.positions.map(({ replayId }) => replayId))).toEqual(new Set([LIVE_STREAM, unread]))
  })

  it('waits for each partition with users, although one without users has begun it', async () => {
    await begun()
    const [replay] = (await readRows(db, 0)).replays
    const asked = replay ? [{ ...replay, addedAt: ADDED_AT }] : []
    const place = { nextOffset: 9n, offsetAt: async () => 0n }
    for (const partition of [7, 0])
      await db.executeAll(await createPositions({ added: [], begun: asked }, { partition, ...place }))
    expect((await readRows(db, 1)).replays).toMatchObject([{ unplaced: [1] }])
    expect((await read()).crm.replays).toMatchObject([{ status: 'running' }])
  })

  it('is looked for without a look at those that have begun, however many there are', async () => {
    await db.$executeRaw(sql`
      INSERT INTO replays (replay_id, organization, project, endpoint_id, number, from_at, to_at, requested_at, unplaced)
      SELECT lpad(nth::text, 32, '0')::uuid, 'acme', 'shop', 'off', nth, now(), now(), ${now}::timestamptz, '{}'
      FROM generate_series(1, 5000) AS nth`)
    await db.$executeRaw(sql`
      INSERT INTO positions (organization, project, endpoint_id, replay_id, partition, added_at, next_offset, begin_offset,
        end_offset, is_live)
      SELECT organization, project, endpoint_id, replay_id, partition, ${ADDED_AT}::timestamptz, 9, 0, 9, false
      FROM replays, generate_series(0, 1) AS partition`)
    await givenPosition(0, {})
    await givenPosition(1, {})
    await db.$executeRaw(sql`ANALYZE replays`)
    await db.$executeRaw(sql`ANALYZE positions`)
    const find = () => findWork(db, catalog, { partitions: [0, 1], before: keptSince(now) })
    const tables = ['replays', 'positions'] as const
    expect(await countRowsRead(db, tables, find)).toBeLessThan(10)
    const unplaced = await begun()
    expect(await find()).toEqual([0, 1])
    await givenPlaces(unplaced, { partitions: 1, nextOffset: 8 })
    expect((await find()).toSorted((one, other) => one - other)).toEqual([0, 1])
    expect((await readRows(db, 1)).replays).toHaveLength(1)
    expect(await countRowsRead(db, tables, find)).toBeLessThan(20)
    expect(await countRowsRead(db, tables, () => readRows(db, 0))).toBeLessThan(20)
    expect(await countRowsRead(db, tables, () => deleteOldReplays(db, keptSince(now)))).toBeLessThan(10)
  })
})

/** Begins a replay some seconds later. */
async function begunAt(second: number): Promise<string> {
  const later = new Date(now.getTime() + second * 1_000)
  const answer = await beginReplay(db, { ...CRM, from: at(0) }, { partitions: PARTITIONS, now: later })
  if (typeof answer === 'string') throw new Error(answer)
  return answer.replayId
}

interface GivenPlaces {
  readonly partitions?: number
  readonly nextOffset?: number
}

/** Lets partitions begin a replay, as their ticks do. */
async function givenPlaces(replayId: string, { partitions = 2, nextOffset = 9 }: GivenPlaces = {}): Promise<void> {
  for (let partition = 0; partition < partitions; partition += 1)
    await givenPosition(partition, { replayId, isLive: false, beginOffset: 0, nextOffset, endOffset: 9 })
  const placed = Array.from({ length: partitions }, (_, partition) => partition)
  await db.$executeRaw(sql`
    UPDATE replays SET unplaced = ARRAY(SELECT unnest(unplaced) EXCEPT SELECT unnest(${placed}::bigint[]))
    WHERE replay_id = ${replayId}::uuid`)
}

/** Lets a replay be complete. */
const givenRead = (replayId: string) => givenPlaces(replayId)
