import { setTimeout as sleep } from 'node:timers/promises'
import { staticCatalog } from '@nextvisit/catalog'
import type { OrganizationConfig, RateLimit } from '@nextvisit/contracts'
import { describe, expect, it, onTestFinished } from 'vitest'
import { type GatewayFixture, startGateway } from '../../test/gateway-fixture.ts'

type Options = Parameters<typeof startGateway>[0]

async function start(options: Options): Promise<GatewayFixture> {
  const gateway = await startGateway(options)
  onTestFinished(gateway.stop)
  return gateway
}

const slow = (burst: number): RateLimit => ({ perSecond: 1 / 3_600, burst })
const limits = (admin: RateLimit, sdk = admin) => ({ project: { rateLimits: { admin, sdk } } })
const ADA = { userName: 'ada' }

describe('rate limits over HTTP (decisions.md, Busy and broken)', () => {
  it('lets exactly burst requests pass over two gateways, admin and SDK apart', async () => {
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

  it('says on every answer what is left, and on a 429 when to come again: then there is room', async () => {
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

  it('comes after the kind of key and before Content-Type, size and JSON', async () => {
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

  it('follows the workspace with the next request', async () => {
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
