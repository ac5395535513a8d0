import { randomUUID } from 'node:crypto'
import { gzipSync } from 'node:zlib'
import { publicApi } from '@nextvisit/contracts'
import { userIdOf } from '@nextvisit/domain'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type GatewayFixture, type GatewayFixtureOptions, startGateway } from '../../test/gateway-fixture.ts'
import { givenGateway, givenService } from '../../test/given-gateway.ts'
import { claimsIn, givenMetering, givenRegistry, reservationsIn } from '../../test/given-services.ts'
import { REQUEST_BUDGET_MS } from '../http/request-budget.ts'
import { type IdempotentRequest, idempotentRequestOf } from '../idempotency/idempotent-request.ts'
import { createKeptAnswers } from '../idempotency/kept-answers.ts'

const BATCH = '/v2/admin/batch'

type Item = Readonly<Record<string, unknown>>
const identify = (userName: string, more: Item = {}) => ({ type: 'identify', userName, ...more })
const track = (userName: string, eventName: string, more: Item = {}) => ({
  type: 'track',
  userName,
  eventName,
  ...more,
})
const newKey = () => `key-${randomUUID()}`
const newUser = () => `user-${randomUUID()}`

/** Returns the results of a batch that is not refused as a whole. */
async function send(gateway: GatewayFixture, items: readonly unknown[], idempotencyKey?: string) {
  const headers = { 'content-type': 'application/json', 'x-api-key': gateway.keys.admin }
  const key = idempotencyKey === undefined ? {} : { 'idempotency-key': idempotencyKey }
  const answer = await gateway.call('POST', BATCH, { ...headers, ...key }, JSON.stringify({ items }))
  expect(answer).toMatchObject({ status: 200 })
  return publicApi.BatchAnswer.parse(answer.body).results as readonly Record<string, unknown>[]
}

/** Returns the members of a result that do not depend on the id and the time of its record. */
const shared = ({ requestId, occurredAt, ...rest }: Item = {}) => ({
  ...rest,
  has: [typeof requestId, typeof occurredAt],
})
const statusesOf = (results: readonly Item[]) => results.map(({ status }) => status)
const eventsOf = async (gateway: GatewayFixture, userName: string) =>
  (await gateway.records()).flatMap(({ fact }) =>
    fact.type === 'EventTracked' && fact.userId === userIdOf(gateway.config.id, 'shop', userName)
      ? [fact.eventName]
      : [],
  )

/** A gateway whose projector knows no user: users exist only if the gateway identified them. */
async function givenNobody(options: GatewayFixtureOptions = {}) {
  const projector = await givenService({
    lookUpUsers: async ({ questions }) => ({ answers: questions.map(() => ({ existence: 'missing' })) }),
  })
  const gateway = await givenGateway({ ...options, services: { 'user-projector': projector.url, ...options.services } })
  return { gateway, projector }
}

describe('a batch (decisions.md, Batch)', () => {
  let gateway: GatewayFixture
  beforeAll(async () => {
    gateway = await startGateway({ project: { events: [{ slug: 'legacy_click', enabled: false }] } })
    await gateway.identify({ userName: 'ada' })
  })
  afterAll(() => gateway.stop())

  const deep = (levels: number): object => (levels === 0 ? {} : { a: deep(levels - 1) })
  const BODIES: readonly Item[] = [
    identify('ada', { userAttributes: { $set: { plan: 'pro' } } }),
    identify('ada', { userAttributes: { $push: { plan: 'pro' } } }),
    identify('ada', { $deviceInfo: { $countryCode: 'XX' } }),
    identify('ada', { unknown: deep(6) }),
    identify('ada', { unknown: deep(7) }),
    identify('ada', { unknown: deep(2_000) }),
    identify('ada', { userAttributes: { $set: { note: 'a\u0000b' } } }),
    identify('ada', { userAttributes: { $set: { ['__proto__']: 1 } } }),
    { type: 'identify' },
    track('ada', 'Checkout Completed'),
    track('ada', 'Checkout Completed', { properties: { total: 12.5 } }),
    track('ada', 'Checkout Completed', { occurredAt: 'yesterday' }),
    track('ada', 'Legacy Click'),
    track('ada', '…'),
    { type: 'track', userName: 7, eventName: 'a' },
    { type: 'track', userName: 'ada', eventName: '\ud800' },
    identify('ada\ud800'),
    track('\udc00', 'a'),
  ]

  it('answers each item as its single route does, in the order of the items', async () => {
    const results = await send(gateway, BODIES)
    expect(results).toHaveLength(BODIES.length)
    for (const [index, { type, ...body }] of BODIES.entries()) {
      const single = await (type === 'identify' ? gateway.identify(body) : gateway.track(body))
      const expected = { ...single.body, status: single.status }
      expect(shared(results[index])).toEqual(shared(expected))
    }
  })

  it('refuses an invalid item, named by its position, and accepts the others', async () => {
    const user = newUser()
    const items = [null, [], 'x', {}, { type: 'page' }, identify(user), track(user, 'a')]
    const results = await send(gateway, items)
    expect(statusesOf(results)).toEqual([400, 400, 400, 400, 400, 200, 202])
    expect(results[1]?.['message']).toBe('items[1] must be a JSON object')
    expect(results[4]?.['message']).toBe('items[4].type must be identify or track')
    expect(await eventsOf(gateway, user)).toEqual(['a'])
  })

  it('refuses an item that is too large for its single route, and accepts the others', async () => {
    const user = newUser()
    const key = { idempotencyKey: newKey() }
    const padOf = (bytes: number) => ({ pad: 'x'.repeat(bytes - JSON.stringify({ userName: user, pad: '' }).length) })
    const items = [102_400, 102_401].flatMap((bytes) => [
      identify(user, padOf(bytes)),
      identify(user, { ...padOf(bytes), ...key }),
    ])
    const results = await send(gateway, [...items, track(user, 'a')])
    expect(statusesOf(results)).toEqual([200, 200, 413, 413, 202])
    const { type: _type, ...tooLarge } = items[2] ?? {}
    expect(results[2]).toEqual((await gateway.identify(tooLarge)).body)
  })

  it('keeps the items of one user in their order', async () => {
    const user = newUser()
    const names = Array.from({ length: 300 }, (_, index) => `step ${index}`)
    const results = await send(gateway, [identify(user), ...names.map((name) => track(user, name))])
    expect(new Set(statusesOf(results))).toEqual(new Set([200, 202]))
    expect(await eventsOf(gateway, user)).toEqual(names)
  })

  it('makes one record of each event', async () => {
    const user = newUser()
    const results = await send(gateway, [identify(user), track(user, 'a'), track(user, 'a')])
    const ids = results.slice(1).map(({ requestId }) => requestId)
    const recorded = (await gateway.records()).flatMap(({ fact }) => (ids.includes(fact.id) ? [fact.id] : []))
    expect(new Set(recorded)).toEqual(new Set(ids))
    expect(recorded).toHaveLength(2)
  })

  it('may be gzip, empty, or as large as the limits allow', async () => {
    const headers = { 'content-type': 'application/json', 'x-api-key': gateway.keys.admin }
    const full = JSON.stringify({
      items: Array.from({ length: 1_000 }, () => identify('ada', { pad: 'x'.repeat(400) })),
    })
    const zipped = await gateway.call('POST', BATCH, { ...headers, 'content-encoding': 'gzip' }, gzipSync(full))
    expect(publicApi.BatchAnswer.parse(zipped.body).results).toHaveLength(1_000)
    expect(await send(gateway, [])).toEqual([])
  })

  it('is refused as a whole for faults of the whole, and nothing of it is recorded', async () => {
    const user = newUser()
    const headers = { 'content-type': 'application/json', 'x-api-key': gateway.keys.admin }
    const call = (body: string | Buffer, more: Record<string, string> = {}) =>
      gateway.call('POST', BATCH, { ...headers, ...more }, body)
    const one = JSON.stringify({ items: [identify(user)] })
    const many = JSON.stringify({ items: Array.from({ length: 1_001 }, () => identify(user)) })
    const large = JSON.stringify({ items: [identify(user, { pad: 'x'.repeat(512_000) })] })
    const answers = [
      await call('{}'),
      await call('{"items":{}}'),
      await call('{"items":['),
      await call(many),
      await call(large),
      await call(gzipSync(large), { 'content-encoding': 'gzip' }),
      await call(one, { 'content-type': 'text/plain' }),
      await call(one, { 'idempotency-key': 'a b' }),
      await call(one, { 'x-api-key': gateway.keys.sdk }),
    ]
    expect(answers.map(({ status }) => status)).toEqual([400, 400, 400, 400, 413, 413, 415, 400, 403])
    expect(answers[3]?.body['message']).toBe('items must be an array of at most 1000 items')
    expect(answers[4]?.body['message']).toBe('The body must be at most 512000 bytes')
    expect((await gateway.records()).filter(({ fact }) => JSON.stringify(fact).includes(user))).toEqual([])
  })

  describe('with keys (Retries)', () => {
    it('may be repeated: each item gets its first answer, and nothing is recorded again', async () => {
      const [user, key] = [newUser(), newKey()]
      const items = [identify(user), track(user, 'a'), track(user, 'a'), track(user, '')]
      const first = await send(gateway, items, key)
      expect(statusesOf(first)).toEqual([200, 202, 202, 400])
      expect(await send(gateway, items, key)).toEqual(first)
      expect(await eventsOf(gateway, user)).toEqual(['a', 'a'])
      const changed = await send(gateway, [...items.slice(0, 2), track(user, 'b')], key)
      expect(changed.slice(0, 2)).toEqual(first.slice(0, 2))
      expect(changed[2]?.['status']).toBe(422)
    })

    it('gives an item its first answer in another batch, at another position, and alone', async () => {
      const [user, idempotencyKey] = [newUser(), newKey()]
      const item = track(user, 'a', { properties: { total: 1 } })
      const keyed = { ...item, idempotencyKey }
      const [, first] = await send(gateway, [identify(user), keyed], newKey())
      expect(first?.['status']).toBe(202)
      const again = await send(gateway, [keyed, track(user, 'b')], newKey())
      expect(again[0]).toEqual(first)
      const { type: _type, ...single } = item
      const headers = { 'content-type': 'application/json', 'x-api-key': gateway.keys.admin }
      const alone = await gateway.call(
        'POST',
        '/v2/admin/track-event',
        { ...headers, 'idempotency-key': idempotencyKey },
        JSON.stringify(single),
      )
      expect(alone.headers['idempotent-replayed']).toBe('true')
      expect({ status: alone.status, ...alone.body }).toEqual(first)
      expect(await eventsOf(gateway, user)).toEqual(['a', 'b'])
    })

    it('gives two items with one key one result, and refuses the second if it differs', async () => {
      const [user, idempotencyKey] = [newUser(), newKey()]
      const item = track(user, 'a', { idempotencyKey })
      const results = await send(gateway, [identify(user), item, item, track(user, 'b', { idempotencyKey })])
      expect(results[2]).toEqual(results[1])
      expect(statusesOf(results)).toEqual([200, 202, 202, 422])
      expect(await eventsOf(gateway, user)).toEqual(['a'])
    })

    it('lets no item overtake one of its user that must be sent again', async () => {
      const [user, other, idempotencyKey] = [newUser(), newUser(), newKey()]
      const late = track(user, 'first', { idempotencyKey })
      const items = [
        identify(user),
        identify(other),
        late,
        track(user, 'second'),
        track(other, 'a'),
        track(user, 'third'),
      ]
      // A gateway died during this request.
      const project = { organization: gateway.config.id, project: 'shop' }
      const bytes = JSON.stringify({ userName: user, eventName: 'first' })
      const running = idempotentRequestOf(
        { entry: { kind: 'admin', environment: 'P' }, project },
        { key: idempotencyKey, route: '/v2/admin/track-event', bytes },
      ) as IdempotentRequest
      await createKeptAnswers(gateway.redis, gateway.redisPrefix, REQUEST_BUDGET_MS).lock(running)
      expect(statusesOf(await send(gateway, items))).toEqual([200, 200, 409, 503, 202, 503])
      expect([await eventsOf(gateway, user), await eventsOf(gateway, other)]).toEqual([[], ['a']])
    })

    it('refuses an item with a malformed key', async () => {
      const results = await send(gateway, [
        identify('ada', { idempotencyKey: 'a b' }),
        identify('ada', { idempotencyKey: 7 }),
        identify('ada', { idempotencyKey: null }),
      ])
      expect(statusesOf(results)).toEqual([400, 400, 200])
      expect(results[0]?.['message']).toContain('Idempotency-Key must be')
    })
  })
})

describe('admission of a batch', () => {
  it('finds a user whom an earlier item identifies, and no later one', async () => {
    const { gateway, projector } = await givenNobody()
    const [early, late] = [newUser(), newUser()]
    const items = [track(early, 'before'), identify(early), track(early, 'after'), track(late, 'never')]
    expect(statusesOf(await send(gateway, items))).toEqual([404, 200, 202, 404])
    expect(await eventsOf(gateway, early)).toEqual(['after'])
    expect(projector.calls.length).toBeGreaterThan(0)
  })

  it('does not find a user whose identify was refused', async () => {
    const metering = await givenMetering(1)
    const { gateway } = await givenNobody({ plan: { monthlyActiveUsers: 1 }, services: { metering: metering.url } })
    const [one, other] = [newUser(), newUser()]
    const items = [
      identify(one),
      identify(other),
      track(one, 'a'),
      track(other, 'a'),
      identify(other),
      track(other, 'b'),
    ]
    expect(statusesOf(await send(gateway, items))).toEqual([200, 400, 202, 404, 400, 404])
  })

  it('admits the first items if there is room for some', async () => {
    const metering = await givenMetering(7)
    const gateway = await givenGateway({ plan: { eventsPerMonth: 7 }, services: { metering: metering.url } })
    await gateway.identify({ userName: 'ada' })
    const results = await send(
      gateway,
      Array.from({ length: 20 }, () => track('ada', 'a')),
    )
    expect(statusesOf(results)).toEqual([...Array<number>(7).fill(202), ...Array<number>(13).fill(402)])
  })

  it('asks each service once for all items', async () => {
    const [metering, names] = [await givenMetering(100_000), await givenRegistry()]
    const services = { metering: metering.url, 'trait-registry': names.url }
    const gateway = await givenGateway({ plan: { eventsPerMonth: 100_000 }, services })
    await gateway.identify({ userName: 'ada' })
    let batches = 0
    const callsForBatch = async () => {
      batches += 1
      const before = [metering, names].map(({ calls }) => calls.length)
      const items = Array.from({ length: 200 }, (_, index) => track('ada', `event ${batches}.${index}`))
      const results = await send(gateway, items)
      expect(new Set(statusesOf(results))).toEqual(new Set([202]))
      expect(results.filter(({ newEvent }) => newEvent)).toHaveLength(200)
      return Math.max(...[metering, names].map(({ calls }, index) => calls.length - (before[index] ?? 0)))
    }
    // Calls to a service that was just started, or that is slow, are small.
    expect(await callsForBatch()).toBeLessThanOrEqual(20)
    // The first question goes out at once, and one call has the others.
    await expect.poll(callsForBatch, { timeout: 30_000 }).toBeLessThanOrEqual(2)
    expect([reservationsIn(metering.calls).length, claimsIn(names.calls).length]).toEqual([
      200 * batches,
      200 * batches,
    ])
  })

  it('answers each item 503 while nothing can be recorded, so that the batch may be sent again', async () => {
    const gateway = await givenGateway({ brokers: '127.0.0.1:1' })
    const results = await send(gateway, [identify('ada'), { type: 'track' }, track('ada', 'a')])
    expect(statusesOf(results)).toEqual([503, 400, 503])
  })
})

const sendMany = (gateway: GatewayFixture, count: number) =>
  gateway.post(BATCH, { items: Array.from({ length: count }, (_, index) => identify(`user ${index}`)) })

describe('the rate limit of batches (decisions.md, Batch)', () => {
  const HARDLY = 1 / 3_600
  const givenLimited = (burst: number) =>
    givenGateway({ project: { rateLimits: { admin: { perSecond: HARDLY, burst } } } })

  it('takes a token for each item, or refuses the whole and records nothing', async () => {
    const gateway = await givenLimited(20)
    expect((await sendMany(gateway, 12)).headers['ratelimit']).toContain('r=8')
    const refused = await sendMany(gateway, 9)
    expect([refused.status, Number(refused.headers['retry-after']) > 0]).toEqual([429, true])
    expect((await sendMany(gateway, 7)).status).toBe(200)
    expect((await sendMany(gateway, 1)).status).toBe(429)
    expect(await gateway.records()).toHaveLength(19)
  })

  it('shares the bucket with single requests, and with other gateways', async () => {
    const gateway = await givenLimited(20)
    const other = await givenGateway({ besides: gateway })
    expect((await sendMany(gateway, 10)).status).toBe(200)
    for (let i = 0; i < 5; i += 1) expect((await other.identify({ userName: 'ada' })).status).toBe(200)
    expect((await sendMany(other, 6)).status).toBe(429)
    expect((await sendMany(gateway, 4)).status).toBe(200)
    expect((await other.identify({ userName: 'ada' })).status).toBe(429)
  })

  it('passes a batch that is larger than the bucket if the bucket is full, which then owes the rest', async () => {
    const gateway = await givenLimited(10)
    expect((await sendMany(gateway, 25)).status).toBe(200)
    const refused = await gateway.identify({ userName: 'ada' })
    expect(refused.status).toBe(429)
    // The debt is 15 tokens, and one more is needed, at one an hour.
    expect(Math.ceil(Number(refused.headers['retry-after']) / 3_600)).toBe(16)
    expect((await sendMany(await givenGateway({ besides: gateway }), 2)).status).toBe(429)
  })

  it('passes batches of a key whose bucket holds one token', async () => {
    const gateway = await givenLimited(1)
    expect((await sendMany(gateway, 3)).status).toBe(200)
    expect((await sendMany(gateway, 1)).status).toBe(429)
  })
})
