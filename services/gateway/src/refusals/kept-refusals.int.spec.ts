import { type KeptRefusal, RefusalsAnswer, RefusalsPage, RefusalsQuery } from '@nextvisit/contracts'
import { userIdOf } from '@nextvisit/domain'
import { createRefusalStore, MAX_REFUSALS_PER_REASON } from '@nextvisit/service-kit'
import { startRedisProxy } from '@nextvisit/service-kit/test/redis-proxy-fixture.ts'
import { until } from '@nextvisit/testing'
import { describe, expect, inject, it } from 'vitest'
import type { GatewayFixture } from '../../test/gateway-fixture.ts'
import { givenGateway, givenService } from '../../test/given-gateway.ts'

const SECRET = 'zqzqsecret'
const IDENTIFY = '/v2/admin/identify-user'

async function list({ get }: GatewayFixture, query = ''): Promise<RefusalsPage> {
  const { status, body } = await get(`/v2/admin/refusals${query}`)
  expect(status).toBe(200)
  return RefusalsPage.parse(body)
}

/** Returns the page once this number of refusals is counted. */
async function listOf(gateway: GatewayFixture, count: number, query = ''): Promise<RefusalsPage> {
  const counted = async () => Object.values((await list(gateway)).counts).reduce((sum, one) => sum + one, 0)
  await until(async () => (await counted()) >= count)
  return list(gateway, query)
}

/** Two gateways of one installation, whose users exist only if a gateway identified them. */
async function givenTwo() {
  const { url } = await givenService({
    lookUpUsers: async ({ questions }) => ({ answers: questions.map(() => ({ existence: 'missing' as const })) }),
  })
  const services = { 'user-projector': url }
  const project = { events: [{ slug: 'legacy', enabled: false }], requireUserSignature: true }
  const one = await givenGateway({ services, project })
  return { one, other: await givenGateway({ besides: one, services }) }
}

const named = ({ reason, status, item }: KeptRefusal) => [reason, status, ...(item === undefined ? [] : [item])]
const keyNamed = (name: string, kind: string, environment: string) => ({ name, kind, environment })

describe('a kept refusal (decisions.md, Refusals)', () => {
  it('of one gateway is listed by another, newest first, for both kinds of key', async () => {
    const { one, other } = await givenTwo()
    const { config, keys } = one
    const refused = await one.track({ userName: SECRET, eventName: SECRET })
    await one.track({ userName: SECRET, eventName: 'Legacy' })
    await one.visit({ userName: SECRET })
    await one.identify({ userName: SECRET, userAttributes: { $increment: { [SECRET]: SECRET } } }, keys.adminT)
    await one.post(IDENTIFY, {}, keys.sdk)
    await one.get('/v2/admin/users?userName=')
    await one.call('POST', IDENTIFY, { 'content-type': 'application/json' }, '{}')
    const { refusals, counts, next } = await listOf(other, 4)
    const userId = userIdOf(config.id, 'shop', SECRET)
    expect(refusals.map(named)).toEqual([
      ['kindOfKey', 403],
      ['finiteNumber', 400],
      ['signature', 401],
      ['user', 404],
      ['user', 404],
    ])
    expect(refusals.map((refusal) => refusal.key)).toEqual([
      keyNamed('web', 'sdk', 'P'),
      keyNamed('staging', 'admin', 'T'),
      keyNamed('web', 'sdk', 'P'),
      keyNamed('backend', 'admin', 'P'),
      keyNamed('backend', 'admin', 'P'),
    ])
    expect(refusals.map((refusal) => refusal.userId)).toEqual([undefined, userId, userId, userId, userId])
    expect(refusals.map(({ event }) => event)).toEqual([undefined, undefined, undefined, 'legacy', undefined])
    expect(refusals[1]?.message).toBe('userAttributes.$increment.… must be a finite number')
    expect(refusals.at(-1)?.requestId).toBe(refused.headers['x-request-id'])
    expect(counts).toEqual({ kindOfKey: 1, finiteNumber: 1, signature: 1, user: 2 })
    expect(next).toBeNull()
    // Metrics also count refusals without a project, and reads.
    expect(await one.refusals()).toMatchObject({ user: 2, key: 1, userName: 1 })
  })

  it('names a declared event of up to 100 characters, whatever their size', async () => {
    const name = '𠮷'.repeat(100)
    const { url } = await givenService({
      lookUpUsers: async ({ questions }) => ({ answers: questions.map(() => ({ existence: 'missing' as const })) }),
    })
    const project = { events: [{ slug: name }] }
    const one = await givenGateway({ services: { 'user-projector': url }, project })
    await one.track({ userName: SECRET, eventName: name })
    expect((await listOf(one, 1)).refusals.map(({ event }) => event)).toEqual([name])
  })

  it('names the item of a batch or of a Segment request', async () => {
    const { one, other } = await givenTwo()
    const items = [
      { type: 'identify', userName: 'ada' },
      { type: 'track', userName: SECRET, eventName: SECRET },
      { type: SECRET },
    ]
    const batch = await one.post('/v2/admin/batch', { items })
    const authorization = `Basic ${Buffer.from(`${one.keys.admin}:`).toString('base64')}`
    const messages = [{ type: 'identify', userId: 'ada' }, { type: 'track', userId: 7, event: '!' }, { type: SECRET }]
    const headers = { authorization, 'content-type': 'application/json' }
    const segment = await one.call('POST', '/v1/batch', headers, JSON.stringify({ batch: messages }))
    expect([batch.status, segment.status]).toEqual([200, 200])
    const { refusals } = await listOf(other, 4)
    expect(refusals.map((refusal) => [refusal.route, ...named(refusal)].join(' ')).toSorted()).toEqual([
      '/v1/batch emptySlug 400 1',
      '/v1/batch messageType 400 2',
      '/v2/admin/batch itemType 400 2',
      '/v2/admin/batch user 404 1',
    ])
    const ids = new Set(refusals.map(({ requestId }) => requestId))
    expect(ids).toEqual(new Set([batch.headers['x-request-id'], segment.headers['x-request-id']]))
    const seventh = refusals.find(({ reason }) => reason === 'emptySlug')
    expect(seventh?.userId).toBe(userIdOf(one.config.id, 'shop', '7'))
  })

  it('of an unknown path or method below a known prefix is listed if a header has a valid key, without the path', async () => {
    const { one } = await givenTwo()
    const { admin, sdk } = one.keys
    const authorization = `Basic ${Buffer.from(`${admin}:`).toString('base64')}`
    const answers = [
      await one.call('POST', `/v1/${SECRET}`, { authorization }, '{}'),
      await one.call('POST', `//v1/${SECRET}`, { authorization }, '{}'),
      await one.call('POST', `//v1//${SECRET}`, { authorization }, '{}'),
      await one.call('POST', `/V1/Batch/${SECRET}`, { authorization }, '{}'),
      await one.call('POST', `/v1/batch/${SECRET}?a=${SECRET}`, { 'x-api-key': admin }, '{}'),
      await one.call('PUT', '/v1/import/', { authorization }, '{}'),
      await one.call('POST', `/v2/admin/${SECRET}`, { 'x-api-key': admin }, '{}'),
      await one.call('POST', `/v2/sdk/${SECRET}`, { 'x-api-key': sdk }, '{}'),
      await one.call('DELETE', `/v2/admin/users/${SECRET}`, { 'x-api-key': admin }),
      // Not listed: a read, an unknown prefix, no key, an unknown key.
      await one.call('GET', `/v2/admin/${SECRET}`, { 'x-api-key': admin }),
      await one.call('POST', `/${SECRET}`, { 'x-api-key': admin }, '{}'),
      await one.call('POST', `/v1/${SECRET}`, {}, JSON.stringify({ writeKey: admin })),
      await one.call('POST', `/v1/${SECRET}`, { 'x-api-key': `${admin.slice(0, -1)}!` }, '{}'),
    ]
    expect(answers.map(({ status }) => status)).toEqual([
      404, 404, 404, 404, 404, 405, 404, 404, 405, 404, 404, 404, 404,
    ])
    const { refusals, counts } = await listOf(one, 9)
    expect(counts).toEqual({ noRoute: 7, otherMethod: 2 })
    expect(
      refusals.map((refusal) => [refusal.route, ...named(refusal), refusal.key.name].join(' ')).toSorted(),
    ).toEqual([
      '/v1/… noRoute 404 backend',
      '/v1/… noRoute 404 backend',
      '/v1/… noRoute 404 backend',
      '/v1/… noRoute 404 backend',
      '/v1/… noRoute 404 backend',
      '/v1/… otherMethod 405 backend',
      '/v2/sdk/… noRoute 404 web',
      '/v2/… noRoute 404 backend',
      '/v2/… otherMethod 405 backend',
    ])
    const ids = new Set(answers.slice(0, 9).map(({ headers }) => headers['x-request-id']))
    expect(new Set(refusals.map(({ requestId }) => requestId))).toEqual(ids)
    expect(await dumpOf(one)).not.toContain(SECRET)
    expect((await list(one, '?reason=noRoute')).refusals).toHaveLength(7)
  })

  it('of a strict caller counts each message, and not the request as well', async () => {
    const { one } = await givenTwo()
    const headers = { 'x-api-key': one.keys.admin, 'content-type': 'application/json', 'x-strict-mode': '1' }
    const answer = await one.call('POST', '/v1/batch', headers, '{"batch":[{"type":"x"},{"type":"x"}]}')
    expect(answer.status).toBe(400)
    expect((await listOf(one, 2)).counts).toEqual({ messageType: 2 })
  })

  it('has no project if the body names its key in the wrong place', async () => {
    const { one } = await givenTwo()
    const answer = await one.call('POST', '/v1/track', {}, JSON.stringify({ context: { writeKey: one.keys.admin } }))
    expect(answer.status).toBe(401)
    expect((await one.visit({ userName: 'a' })).status).toBe(401)
    expect((await listOf(one, 1)).counts).toEqual({ signature: 1 })
  })

  it('contains no word of the caller in Redis', async () => {
    const { one, other } = await givenTwo()
    const body = { userName: SECRET, eventName: SECRET, properties: { [SECRET]: { [SECRET]: SECRET } } }
    await one.track(body)
    await one.track({ ...body, occurredAt: SECRET })
    await one.track({ ...body, properties: { [SECRET]: SECRET.repeat(300) } })
    await one.identify({ userName: SECRET, userAttributes: { [SECRET]: SECRET } })
    await one.identify({ userName: SECRET, userAttributes: { $set: { [SECRET]: { a: SECRET } } } })
    await one.identify({ userName: SECRET, $deviceInfo: { $timezone: SECRET } })
    await one.post(`${IDENTIFY}?${SECRET}`, [SECRET])
    await one.post('/v2/admin/batch', { items: [{ type: SECRET, [SECRET]: 1 }, SECRET, { type: 'track', ...body }] })
    await one.call('POST', '/v1/track', {}, JSON.stringify({ writeKey: one.keys.admin, userId: SECRET, event: '!' }))
    const { refusals } = await listOf(other, 11)
    expect(refusals).toHaveLength(11)
    const stored = await dumpOf(one)
    expect(stored).toContain('occurredAt must be')
    for (const secret of [SECRET, one.keys.admin]) expect(stored).not.toContain(secret)
  })

  it('is listed in pages, and by reason', async () => {
    const { one } = await givenTwo()
    for (const userName of ['a', 'b', 'c']) await one.track({ userName, eventName: 'a' })
    await one.visit({ userName: 'a' })
    const { refusals } = await listOf(one, 4)
    const seen: KeptRefusal[] = []
    for (let after: string | null = ''; after !== null; ) {
      const page = await list(one, `?limit=3${after && `&after=${after}`}`)
      seen.push(...page.refusals)
      after = page.next
    }
    expect(seen).toEqual(refusals)
    const page = await list(one, '?reason=signature')
    expect(page.refusals.map(named)).toEqual([['signature', 401]])
    expect(page.counts).toEqual({ user: 3, signature: 1 })
  })

  it('may be dropped in a flood, but is counted', async () => {
    const { one } = await givenTwo()
    for (let counted = 1_000; counted <= 7_000; counted += 1_000) {
      await one.post('/v2/admin/batch', { items: Array.from({ length: 1_000 }, () => ({ type: 'x' })) })
      await until(async () => (await list(one)).counts['itemType'] === counted)
    }
    const { refusals, counts } = await list(one, '?limit=1000')
    expect(counts).toEqual({ itemType: 7_000 })
    expect(refusals).toHaveLength(MAX_REFUSALS_PER_REASON)
    const all = await one.redis.keys(`${one.redisPrefix}refusals:*`)
    expect(all.length).toBeLessThanOrEqual(3)
    for (const key of all) expect(await one.redis.pttl(key)).toBeGreaterThan(0)
  })

  it('of another project is not listed', async () => {
    const { one } = await givenTwo()
    await one.visit({ userName: 'a' })
    await listOf(one, 1)
    const store = createRefusalStore(one.redis, one.redisPrefix)
    const read = await store.read({ organization: one.config.id, project: 'shop2' }, Date.now())
    expect(read).toEqual({ refusals: [], counts: {} })
  })

  it('of an erased user is deleted, and those of others and the counts stay', async () => {
    const { one } = await givenTwo()
    for (const userName of ['erased', 'other', 'erased']) await one.track({ userName, eventName: 'a' })
    await one.visit({ userName: 'erased' })
    await one.post(IDENTIFY, {})
    const before = await listOf(one, 5)
    const project = { organization: one.config.id, project: 'shop' }
    const store = createRefusalStore(one.redis, one.redisPrefix)
    const userIds = new Set([userIdOf(one.config.id, 'shop', 'erased')])
    const eraseFrom = (name: string) => store.erase({ ...project, project: name }, userIds, Date.now())
    expect(await eraseFrom('blog')).toEqual(new Map())
    expect([...(await eraseFrom('shop'))]).toEqual([[[...userIds][0], 3]])
    const { refusals, counts } = await list(one)
    expect(refusals.map(named)).toEqual([
      ['noUserName', 401],
      ['user', 404],
    ])
    expect(refusals.map(({ userId }) => userId)).toEqual([undefined, userIdOf(one.config.id, 'shop', 'other')])
    expect(counts).toEqual(before.counts)
    expect(await dumpOf(one)).not.toContain([...userIds][0])
    expect(await eraseFrom('shop')).toEqual(new Map())
  })

  it('is readable on the internal port of any gateway, up to a limit', async () => {
    const { one, other } = await givenTwo()
    await one.visit({ userName: 'a' })
    await one.track({ userName: 'a', eventName: 'a' })
    await listOf(one, 2)
    const [route] = other.gateway.internalRoutes
    const ask = async (query: object) =>
      RefusalsAnswer.parse(
        await route?.handle(RefusalsQuery.parse(query), { signal: new AbortController().signal, deadlineAt: 0 }),
      )
    const place = { organization: one.config.id, project: 'shop' }
    expect((await ask({ ...place, limit: 10 })).refusals?.map(({ reason }) => reason)).toEqual(['user', 'signature'])
    expect((await ask({ ...place, limit: 1 })).refusals).toMatchObject([{ reason: 'user' }])
    expect(await ask({ ...place, project: 'quiet', limit: 1 })).toEqual({ refusals: [] })
    await other.stop()
    expect(await ask({ ...place, limit: 1 })).toEqual({ refusals: null })
  })

  it('is lost without Redis, and requests are still answered', async () => {
    const proxy = await startRedisProxy(inject('redisUrl'))
    const gateway = await givenGateway({ redisUrl: proxy.url })
    await until(gateway.gateway.replies.isUp)
    proxy.close()
    await until(() => gateway.redis.status !== 'ready')
    expect((await gateway.identify({ userName: 'ada' })).status).toBe(200)
    expect((await gateway.identify({ userName: 1 })).status).toBe(400)
    await until(async () => (await gateway.droppedRefusals())['redis'] === 1)
    expect((await gateway.get('/v2/admin/refusals')).status).toBe(503)
    await proxy.reopen()
    await until(() => gateway.redis.status === 'ready')
    expect((await gateway.identify({ userName: 1 })).status).toBe(400)
    expect((await listOf(gateway, 1)).counts).toEqual({ userName: 1 })
  })

  it('is written when the gateway stops', async () => {
    const { one, other } = await givenTwo()
    await one.visit({ userName: 'a' })
    await one.gateway.stop()
    expect((await list(other)).counts).toEqual({ signature: 1 })
  })
})

/** Returns all data of this installation in Redis. */
async function dumpOf({ redis, redisPrefix }: GatewayFixture): Promise<string> {
  const keys = await redis.keys(`${redisPrefix}*`)
  const texts = await Promise.all(
    keys.map(async (key) => {
      const type = await redis.type(key)
      if (type === 'list') return redis.lrange(key, 0, -1)
      if (type === 'hash') return redis.hgetall(key)
      return redis.get(key)
    }),
  )
  return JSON.stringify([keys, texts])
}
