import { randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { gzipSync } from 'node:zlib'
import { staticCatalog } from '@nextvisit/catalog/test/static-catalog.ts'
import { type OrganizationConfig, type RateLimit } from '@nextvisit/contracts'
import { describe, expect, it, onTestFinished } from 'vitest'
import { type GatewayFixture, startGateway } from '../../test/gateway-fixture.ts'
import { startService } from '../../test/service-fixture.ts'

type Options = Parameters<typeof startGateway>[0]

async function start(options: Options): Promise<GatewayFixture> {
  const gateway = await startGateway(options)
  onTestFinished(gateway.stop)
  return gateway
}

const slow = (burst: number): RateLimit => ({ perSecond: 1 / 3_600, burst })
const limits = (admin: RateLimit, sdk = admin) => ({ project: { rateLimits: { admin, sdk } } })
const ADA = { userName: 'ada' }
const INSTANT = '2026-11-02T10:00:00.000Z'
/** Returns the body, filled up to this number of bytes as JSON with an ignored member. */
const filled = (body: object, bytes: number) => ({
  ...body,
  filling: 'x'.repeat(bytes - JSON.stringify({ ...body, filling: '' }).length),
})

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
    const { identify, call, keys } = await start(limits({ perSecond: 0.4, burst: 2 }))
    const answers = [
      await identify(ADA),
      await call('POST', '/v2/admin/identify-user', { 'x-api-key': keys.admin }),
      await identify(ADA),
    ]
    expect(answers.map(({ status }) => status)).toEqual([200, 415, 429])
    expect(answers.map(({ headers }) => headers['ratelimit-policy'])).toEqual(Array(3).fill('"admin";q=2;w=5'))
    expect(answers.map(({ headers }) => headers['ratelimit'])).toEqual([
      '"admin";r=1;t=3',
      expect.stringMatching(/^"admin";r=0;t=[23]$/),
      expect.stringMatching(/^"admin";r=0;t=[23]$/),
    ])
    const [passed, alsoPassed, refused] = answers.map(({ headers }) => headers['retry-after'])
    expect([passed, alsoPassed]).toEqual([undefined, undefined])
    expect(answers[2]?.headers['ratelimit']).toBe(`"admin";r=0;t=${refused}`)
    await sleep(Number(refused) * 1_000)
    expect((await identify(ADA)).status).toBe(200)
  })

  it('is checked after the kind of key and before Content-Type, size and JSON', async () => {
    const { call, keys } = await start(limits(slow(1)))
    const broken = (path: string, key: string) =>
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
      statuses.push((await broken(path, key)).status)
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
        'retry-after': expect.stringMatching(/^3(600|59\d)$/),
        ratelimit: expect.stringMatching(/^"\w+";r=0;t=3/),
      },
      body: { status: 429, error: 'Too Many Requests' },
    })
  })

  it('costs a token for each item, and one for each 2 KiB by which the body, inflated, is larger than 8 KiB an item', async () => {
    const { call, keys, records } = await start(limits(slow(1_000)))
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
    const [identify, batch] = ['/v2/admin/identify-user', '/v2/admin/batch']
    const item = { type: 'identify', ...ADA }
    const items = (count: number) => ({ items: Array.from({ length: count }, () => item) })
    const message = { type: 'identify', userId: 'ada' }
    await costs(1, identify, filled(ADA, 8_192))
    await costs(2, identify, filled(ADA, 8_193))
    await costs(47, identify, filled(ADA, 102_400))
    await costs(47, identify, filled(ADA, 102_400), gzipSync)
    await costs(2, '/v2/admin/track-event', filled({ ...ADA, eventName: 'Paid' }, 9_000))
    await costs(2, '/v2/sdk/identify-user', filled(ADA, 9_000))
    await costs(20, batch, filled(items(20), 163_840))
    await costs(21, batch, filled(items(20), 163_841))
    await costs(12, '/v1/identify', filled(message, 30_000))
    await costs(2, '/v1/batch', filled({ batch: [message] }, 9_000))
    await costs(1, batch, { items: 'none' })
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

  it('refuses a body with more units of 8 KiB than tokens before parsing it, and takes no token for that', async () => {
    const { call, keys } = await start(limits(slow(6)))
    const send = async (bytes: number) => {
      const headers = { 'x-api-key': keys.admin, 'content-type': 'application/json' }
      const answer = await call('POST', '/v2/admin/batch', headers, 'x'.repeat(bytes))
      return [answer.status, String(answer.headers['ratelimit']).slice(8, 11)]
    }
    // 400: the body was parsed, and is not JSON.
    expect([await send(5 * 8_192), await send(5 * 8_192)]).toEqual([
      [400, 'r=5'],
      [400, 'r=4'],
    ])
    expect([await send(5 * 8_192), await send(8_192), await send(500_000)]).toEqual([
      [429, 'r=0'],
      [400, 'r=2'],
      [429, 'r=0'],
    ])
  })

  it('passes a body that costs more than burst if the bucket is full, and the bucket owes the rest', async () => {
    const { identify } = await start(limits({ perSecond: 1, burst: 2 }))
    expect((await identify(filled(ADA, 100_000))).status).toBe(200)
    const refused = await identify(ADA)
    // The debt is 44 tokens, and one more is needed.
    expect([refused.status, refused.headers['retry-after']]).toEqual([429, '45'])
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
    const { get } = await start({ ...limits({ perSecond: 1, burst: 3 }), services })
    const read = await get('/v2/admin/users/ada')
    // Two tokens were left, and three are owed. So one is missing, and one more is needed.
    expect([read.status, read.headers['ratelimit']]).toEqual([200, '"admin";r=0;t=2'])
    const refused = await get('/v2/admin/users/ada')
    expect([refused.status, refused.headers['retry-after']]).toEqual([429, '2'])
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
