import { randomUUID } from 'node:crypto'
import { gzipSync } from 'node:zlib'
import { staticCatalog } from '@nextvisit/catalog/test/static-catalog.ts'
import { type OrganizationConfig, type RateLimit } from '@nextvisit/contracts'
import { hashApiKey } from '@nextvisit/domain'
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import type { Reply } from '../../test/call-over.ts'
import { type GatewayFixture, startGateway } from '../../test/gateway-fixture.ts'
import { givenTenants } from '../../test/given-tenants.ts'
import { startService } from '../../test/service-fixture.ts'
import { LEASE_SCRIPT } from '../billing/lease-script.ts'

type Options = Parameters<typeof startGateway>[0]

async function start(options: Options): Promise<GatewayFixture> {
  const gateway = await startGateway(options)
  onTestFinished(gateway.stop)
  return gateway
}

const slow = (burst: number): RateLimit => ({ perSecond: 1 / 3_600, burst })
const limits = (admin: RateLimit, sdk = admin) => ({ project: { rateLimits: { admin, sdk } } })
const ADA = { userName: 'ada' }
const GZIP = { 'content-encoding': 'gzip' }
const INSTANT = '2026-11-02T10:00:00.000Z'
/** Returns the body, filled up to this number of bytes as JSON with an ignored member. */
const filled = (body: object, bytes: number) => ({
  ...body,
  filling: 'x'.repeat(bytes - JSON.stringify({ ...body, filling: '' }).length),
})

/** Returns objects of one member, whose names all differ. */
const names = (count: number) => Array.from({ length: count }, (_, index) => ({ [(46_656 + index).toString(36)]: 1 }))
/** Returns the hours of these seconds, of which some have passed. */
const hours = (seconds: string | undefined) => Math.ceil(Number(seconds) / 3_600)
const leftIn = ({ headers }: Pick<Reply, 'headers'>) => Number(/r=(\d+)/.exec(String(headers['ratelimit']))?.[1])
/** Returns a body of this number of bytes that is no JSON. */
const broken = (bytes: number) => JSON.stringify(filled(ADA, bytes + 1)).slice(0, -1)
const withoutChecksum = (gzip: Buffer) => Buffer.concat([gzip.subarray(0, -8), Buffer.alloc(8)])

/**
 * Takes half of the tokens of both keys. Below the middle of a bucket, a gateway leases none in advance, which a slow machine
 * would lose.
 */
async function spendHalf({ redis, redisPrefix, keys }: GatewayFixture, limit: RateLimit): Promise<void> {
  const ask = { ...limit, gateway: 'another', need: limit.burst / 2, batches: [], extra: 0, returned: 0, known: 0 }
  for (const key of [keys.admin, keys.sdk])
    await redis.eval(LEASE_SCRIPT, 1, `${redisPrefix}rate:${hashApiKey(key)}`, JSON.stringify(ask))
}

const [IDENTIFY, BATCH, SEGMENT_BATCH] = ['/v2/admin/identify-user', '/v2/admin/batch', '/v1/batch'] as const
const [VISIT, SDK_TRACK] = ['/v2/sdk/identify-user', '/v2/sdk/track-event'] as const

describe('the rate limit over HTTP (decisions.md, Busy and broken)', () => {
  it('passes exactly burst requests over two gateways, separately for admin and SDK keys', async () => {
    const one = await start(limits(slow(5), slow(3)))
    const other = await start({ besides: one })
    const passed = async (send: (gateway: GatewayFixture) => Promise<{ status: number }>) => {
      const sent = [one, other].flatMap((gateway) => Array.from({ length: 6 }, () => send(gateway)))
      const statuses = (await Promise.all(sent)).map(({ status }) => status)
      expect(statuses.filter((status) => status !== 200)).toEqual(statuses.filter((status) => status === 429))
      return statuses.filter((status) => status === 200).length
    }
    expect(await passed(({ identify }) => identify(ADA))).toBe(5)
    expect(await passed(({ visit }) => visit(ADA))).toBe(3)
    expect((await other.identify(ADA, other.keys.adminT)).status).toBe(200)
  })

  it('states on every answer how many requests are left, and on a 429 when the next one passes', async () => {
    const { identify, call, keys } = await start(limits(slow(2)))
    const answers = [
      await identify(ADA),
      await call('POST', '/v2/admin/identify-user', { 'x-api-key': keys.admin }),
      await identify(ADA),
    ]
    expect(answers.map(({ status }) => status)).toEqual([200, 415, 429])
    expect(answers.map(({ headers }) => headers['ratelimit-policy'])).toEqual(Array(3).fill('"admin";q=2;w=7200'))
    expect(answers.map(({ headers }) => headers['ratelimit'])).toEqual([
      '"admin";r=1;t=3600',
      expect.stringMatching(/^"admin";r=0;t=3(600|5\d\d)$/),
      expect.stringMatching(/^"admin";r=0;t=3(600|5\d\d)$/),
    ])
    const [passed, alsoPassed, refused] = answers.map(({ headers }) => headers['retry-after'])
    expect([passed, alsoPassed]).toEqual([undefined, undefined])
    expect(answers[2]?.headers['ratelimit']).toBe(`"admin";r=0;t=${refused}`)
  })

  it('is checked after the kind of key and before Content-Type, size and JSON', async () => {
    const { call, keys } = await start(limits(slow(1)))
    const refused = (path: string, key: string) =>
      call('POST', path, { 'x-api-key': key, 'content-type': 'text/plain' }, 'x'.repeat(102_401))
    const statuses = []
    for (const [path, key] of [
      ['/v2/admin/nothing', keys.admin],
      ['/v2/admin/identify-user', 'no-key'],
      ['/v2/admin/identify-user', keys.sdk],
      ['/v2/sdk/identify-user', keys.admin],
      ['/v2/admin/identify-user', keys.admin],
      ['/v2/admin/identify-user', keys.admin],
    ] as const)
      statuses.push((await refused(path, key)).status)
    expect(statuses).toEqual([404, 401, 403, 403, 415, 429])
  })

  it.each([
    ['POST', '/v2/admin/identify-user', 'admin'],
    ['POST', '/v2/admin/track-event', 'admin'],
    ['POST', '/v2/sdk/identify-user', 'sdk'],
    ['POST', '/v2/sdk/track-event', 'sdk'],
    ['GET', '/v2/admin/users/ada', 'admin'],
    ['GET', '/v2/admin/usage', 'admin'],
    ['GET', '/v2/admin/traits', 'admin'],
    ['GET', '/v2/admin/events', 'admin'],
  ] as const)('limits %s %s', async (method, path, kind) => {
    const { call, keys } = await start(limits(slow(1)))
    const first = await call(method, path, { 'x-api-key': keys[kind] })
    expect(first.status).not.toBe(429)
    expect(first.headers).toMatchObject({
      ratelimit: `"${kind}";r=0;t=3600`,
      'ratelimit-policy': `"${kind}";q=1;w=3600`,
    })
    expect(await call(method, path, { 'x-api-key': keys[kind] })).toMatchObject({
      status: 429,
      headers: {
        'retry-after': expect.stringMatching(/^3(600|5\d\d)$/),
        ratelimit: expect.stringMatching(/^"\w+";r=0;t=3/),
      },
      body: { status: 429, error: 'Too Many Requests' },
    })
  })

  it('costs a token for each item, and one for each 2 KiB by which the body, inflated, is larger than 8 KiB an item', async () => {
    const gateway = await start(limits(slow(2_000)))
    const { call, keys, records } = gateway
    await spendHalf(gateway, slow(2_000))
    let left = 1_000
    const costs = async (
      price: number,
      path: string,
      body: object,
      encode = (text: string): string | Buffer => text,
    ) => {
      const key = path.startsWith('/v2/sdk') ? 'sdk' : 'admin'
      const sent = encode(JSON.stringify(body))
      const encoding = typeof sent === 'string' ? undefined : { 'content-encoding': 'gzip' }
      const headers = { 'x-api-key': keys[key], 'content-type': 'application/json', ...encoding }
      const answer = await call('POST', path, headers, sent)
      left -= key === 'admin' ? price : 0
      const expected = key === 'admin' ? left : 1_000 - price
      expect([path, answer.status, answer.headers['ratelimit']]).toEqual([
        path,
        expect.any(Number),
        expect.stringContaining(`r=${expected};`),
      ])
      return answer.status
    }
    const item = { type: 'identify', ...ADA }
    const items = (count: number) => ({ items: Array.from({ length: count }, () => item) })
    const message = { type: 'identify', userId: 'ada' }
    await costs(1, IDENTIFY, filled(ADA, 8_192))
    await costs(2, IDENTIFY, filled(ADA, 8_193))
    await costs(47, IDENTIFY, filled(ADA, 102_400))
    await costs(47, IDENTIFY, filled(ADA, 102_400), gzipSync)
    await costs(2, '/v2/admin/track-event', filled({ ...ADA, eventName: 'Paid' }, 9_000))
    await costs(2, '/v2/sdk/identify-user', filled(ADA, 9_000))
    await costs(20, BATCH, filled(items(20), 163_840))
    await costs(21, BATCH, filled(items(20), 163_841))
    await costs(12, '/v1/identify', filled(message, 30_000))
    await costs(2, '/v1/batch', filled({ batch: [message] }, 9_000))
    await costs(1, BATCH, { items: 'none' })
    expect(await records()).toHaveLength(48)
  })

  it('records nothing of a large body whose rest it refuses, and states when the whole body passes', async () => {
    const { identify, records } = await start(limits({ perSecond: 0.01, burst: 46 }))
    const large = filled(ADA, 100_000)
    expect((await identify(ADA)).status).toBe(200)
    const refused = await identify(large)
    expect(refused.status).toBe(429)
    // 44 tokens are left, and 46 are needed.
    expect(Number(refused.headers['retry-after'])).toBeGreaterThan(100)
    expect(await records()).toHaveLength(1)
  })

  it('refuses a body with more units of 8 KiB than tokens before parsing it, and charges a token for each 64 KiB of it', async () => {
    const { call, keys } = await start(limits(slow(20)))
    const send = async (bytes: number) => {
      const headers = { 'x-api-key': keys.admin, 'content-type': 'application/json' }
      const { status, headers: answered } = await call('POST', '/v2/admin/batch', headers, 'x'.repeat(bytes))
      return [status, String(answered['ratelimit']).slice(8, 11), Number(answered['retry-after'] ?? 0)]
    }
    // 400: the body was parsed, and is not JSON. It costs 17 tokens.
    expect(await send(5 * 8_192)).toEqual([400, 'r=3', 0])
    // 2 are left, and a retry needs 5.
    expect(await send(5 * 8_192)).toEqual([429, 'r=0', expect.closeTo(3 * 3_600, -2)])
    expect(await send(100)).toEqual([400, 'r=1', 0])
    // None is left, 7 are owed for 500 KB, and a retry needs half of `burst`.
    expect(await send(500_000)).toEqual([429, 'r=0', expect.closeTo(17 * 3_600, -2)])
    expect(await send(100)).toEqual([429, 'r=0', expect.closeTo(8 * 3_600, -2)])
  })

  it('parses a few of a flood of large refused bodies, and answers another organization meanwhile', async () => {
    const rateLimits = { admin: { perSecond: 100, burst: 200 }, sdk: { perSecond: 100, burst: 200 } }
    const { gateway, loud, quiet } = await givenTenants({}, { rateLimits })
    const headers = { 'x-api-key': loud[0] ?? '', 'content-type': 'application/json', 'content-encoding': 'gzip' }
    const body = gzipSync(JSON.stringify({ x: names(46_000) }))
    const answered: (number | string)[] = []
    const flood = Array.from({ length: 40 }, async () =>
      answered.push((await gateway.call('POST', BATCH, headers, body)).status),
    )
    answered.push(`quiet ${(await gateway.identify(ADA, quiet)).status}`)
    await Promise.all(flood)
    expect(answered).toContain('quiet 200')
    expect(answered.filter((status) => status === 400).length).toBeLessThanOrEqual(2)
    // 503: more bytes than one key may have in memory.
    expect(answered.filter((status) => status === 429 || status === 503).length).toBeGreaterThanOrEqual(38)
    expect(answered).toContain(429)
  })

  it('passes a body that costs more than burst if the bucket is full, and the bucket owes the rest', async () => {
    const { identify } = await start(limits(slow(2)))
    expect((await identify(filled(ADA, 100_000))).status).toBe(200)
    const refused = await identify(ADA)
    // The debt is 44 tokens, and one more is needed.
    expect([refused.status, hours(refused.headers['retry-after'])]).toEqual([429, 45])
  })

  it('charges a read a token for each 32 KiB of its answer beyond 8 KiB, as a debt if need be', async () => {
    const seen = { firstSeenAt: INSTANT, lastSeenAt: INSTANT }
    const user = { userId: randomUUID(), userName: 'ada', country: null, device: {}, ...seen, events: {}, segments: [] }
    const { url, stop } = await startService({
      readUser: async () => ({ ...user, traits: { note: 'x'.repeat(100_000) } }),
      readQueue: async () => ({ waiting: [] }),
    })
    onTestFinished(stop)
    const services = { 'user-projector': url, 'form-trigger-evaluator': url }
    const { get } = await start({ ...limits(slow(3)), services })
    const read = await get('/v2/admin/users/ada')
    const [, left, moreIn] = /^"admin";r=(\d+);t=(\d+)$/.exec(String(read.headers['ratelimit'])) ?? []
    // Two tokens were left, and three are owed. So one is missing, and one more is needed.
    expect([read.status, left, hours(moreIn)]).toEqual([200, '0', 2])
    const refused = await get('/v2/admin/users/ada')
    expect([refused.status, hours(refused.headers['retry-after'])]).toEqual([429, 2])
  })

  it('follows a changed workspace with the next request', async () => {
    let config: OrganizationConfig | undefined
    const catalog = {
      ...staticCatalog([]),
      keyByHash: (hash: string) => config && staticCatalog([config]).keyByHash(hash),
    }
    const { identify, config: first } = await start({ ...limits(slow(1)), catalog })
    config = first
    expect([(await identify(ADA)).status, (await identify(ADA)).status]).toEqual([200, 429])
    const rateLimits = { admin: slow(3), sdk: slow(3) }
    config = { ...first, projects: first.projects.map((project) => ({ ...project, rateLimits })) }
    const answers = [await identify(ADA), await identify(ADA), await identify(ADA)]
    expect(answers.map(({ status }) => status)).toEqual([200, 200, 429])
  })
})

describe('the price of a body, whatever becomes of it (decisions.md, Busy and broken)', () => {
  let gateway: GatewayFixture
  beforeAll(async () => {
    gateway = await startGateway(limits(slow(20_000)))
    await spendHalf(gateway, slow(20_000))
  })
  afterAll(() => gateway.stop())

  /** Returns the tokens that are left after a request of one. */
  const leftOf = async (kind: 'admin' | 'sdk') => {
    const path = kind === 'sdk' ? VISIT : IDENTIFY
    return leftIn(await gateway.call('POST', path, { 'x-api-key': gateway.keys[kind] }))
  }

  it.each<[string, number, number, string, string | Buffer, Record<string, string>?]>([
    ['a body that is broken', 400, 47, IDENTIFY, broken(102_400)],
    ['a body that is broken', 400, 47, SDK_TRACK, broken(102_400)],
    ['a body that is broken, inflated', 400, 47, VISIT, gzipSync(broken(102_400)), GZIP],
    ['a body that is not UTF-8', 400, 47, IDENTIFY, Buffer.alloc(102_400, 0xff)],
    ['a body that is not an object', 400, 47, IDENTIFY, JSON.stringify('x'.repeat(102_398))],
    ['a body that is nested too deeply', 400, 47, IDENTIFY, JSON.stringify(filled({ a: [[[[[[[[]]]]]]]] }, 102_400))],
    ['a body that names no user', 401, 47, VISIT, JSON.stringify(filled({}, 102_400))],
    ['a body that breaks a rule', 400, 47, SDK_TRACK, JSON.stringify(filled(ADA, 102_400))],
    ['a body that is broken', 400, 47, '/v1/identify', broken(102_400)],
    ['a body that has no items', 400, 242, BATCH, JSON.stringify(filled({}, 500_000))],
    [
      'a body that has too many items',
      400,
      1_000,
      BATCH,
      JSON.stringify({ items: Array.from({ length: 1_001 }, () => ({})) }),
    ],
    [
      'a body that has too many messages',
      400,
      2_500,
      SEGMENT_BATCH,
      JSON.stringify({ batch: Array.from({ length: 2_501 }, () => 1) }),
    ],
    ['a body that is no list of messages', 400, 242, SEGMENT_BATCH, JSON.stringify(filled({ batch: 'none' }, 500_000))],
    [
      'a batch that has a malformed Idempotency-Key',
      400,
      20,
      BATCH,
      JSON.stringify({ items: Array.from({ length: 20 }, () => ({ type: 'identify', ...ADA })) }),
      { 'idempotency-key': 'two words' },
    ],
    ['a body that has 600 names besides its items', 400, 601, BATCH, JSON.stringify({ x: names(600), items: 'none' })],
    ['a body that inflates to 500 KB, then fails', 400, 8, BATCH, withoutChecksum(gzipSync('x'.repeat(500_000))), GZIP],
    ['a body that inflates to more than it may', 413, 8, BATCH, gzipSync('x'.repeat(600_000)), GZIP],
    ['a body that is of another type', 415, 1, IDENTIFY, broken(102_400), { 'content-type': 'text/plain' }],
    ['a body that has another encoding', 415, 1, IDENTIFY, broken(102_400), { 'content-encoding': 'br' }],
    ['a body that announces too many bytes', 413, 1, IDENTIFY, broken(102_401)],
  ])('%s: %i, %i tokens', async (_what, status, price, path, body, more) => {
    const kind = path.startsWith('/v2/sdk') ? 'sdk' : 'admin'
    const headers = { 'x-api-key': gateway.keys[kind], 'content-type': 'application/json', ...more }
    const before = await leftOf(kind)
    const answer = await gateway.call('POST', path, headers, body)
    expect([answer.status, before - leftIn(answer)]).toEqual([status, price])
  })
})
