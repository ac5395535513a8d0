import { randomUUID } from 'node:crypto'
import { gzipSync } from 'node:zlib'
import { RefusalsPage } from '@nextvisit/contracts'
import { userIdOf } from '@nextvisit/domain'
import { until } from '@nextvisit/testing'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type GatewayFixture, startGateway } from '../../test/gateway-fixture.ts'

let gateway: GatewayFixture
beforeAll(async () => {
  gateway = await startGateway({})
})
afterAll(() => gateway.stop())

const basic = () => `Basic ${Buffer.from(`${gateway.keys.admin}:`).toString('base64')}`
const recordsOf = async (userName: string) => {
  const userId = userIdOf(gateway.config.id, 'shop', userName)
  return (await gateway.records()).flatMap(({ fact }) => (fact.userId === userId ? [fact] : []))
}
const now = () => new Date().toISOString()
const filled = (bytes: number) => `{"batch":[],"filling":"${'x'.repeat(bytes - 25)}"}`
const deliver = async (path: string, headers: Record<string, string>, body: string, isGzip = false) => {
  const encoding = isGzip ? { 'content-encoding': 'gzip' } : {}
  const answer = await gateway.call('POST', path, { ...headers, ...encoding }, isGzip ? gzipSync(body) : body)
  expect([answer.status, answer.body]).toEqual([200, { success: true, rejected: [] }])
}
const send = (batch: readonly object[]) =>
  gateway.call('POST', '/v1/batch', { authorization: basic() }, JSON.stringify({ batch }))
const listed = async () => RefusalsPage.parse((await gateway.get('/v2/admin/refusals')).body).refusals

describe('the paths of Segment’s and RudderStack’s libraries (decisions.md, Segment’s API)', () => {
  it.each([
    '/v1/batch',
    '/v1/import',
    '/v1/import/',
    '/v1/b',
    '/v1/b/',
    '/v1/b?from=app',
    '//v1/batch',
    '//v1/import/',
    '/v1//b',
    '/v1//batch/?a=/v1/x',
  ])('%s takes a batch', async (path) => {
    const user = randomUUID()
    const batch = [{ type: 'identify', userId: user }]
    const headers = { authorization: basic(), 'content-type': 'application/json' }
    const answer = await gateway.call('POST', path, headers, JSON.stringify({ batch }))
    expect([answer.status, answer.body]).toEqual([200, { success: true, rejected: [] }])
    expect(await recordsOf(user)).toHaveLength(1)
  })

  it.each([
    ['/v1/identify', 1],
    ['/v1/i', 1],
    ['/v1/track/', 1],
    ['/v1/t', 1],
    ['/v1/t/', 1],
    ['//v1/track', 1],
    ['/v1/page', 0],
    ['/v1/p', 0],
    ['/v1/screen/', 0],
    ['/v1/s', 0],
    ['/v1/group', 0],
    ['/v1/g/', 0],
    ['/v1/alias', 0],
    ['/v1/a', 0],
  ])('%s takes one message, of which %i is recorded', async (path, count) => {
    const user = randomUUID()
    const message = { userId: user, event: 'a', messageId: randomUUID() }
    const answer = await gateway.call('POST', path, { authorization: basic() }, JSON.stringify(message))
    expect([answer.status, answer.body]).toEqual([200, { success: true, rejected: [] }])
    expect(await recordsOf(user)).toHaveLength(count)
  })

  it('are one route: a message that is sent again to another one is recorded once', async () => {
    const user = randomUUID()
    const batch = [{ type: 'track', userId: user, event: 'a', messageId: randomUUID() }]
    for (const path of ['/v1/import', '/v1/b', '/v1/batch/'])
      expect((await gateway.call('POST', path, { authorization: basic() }, JSON.stringify({ batch }))).status).toBe(200)
    expect(await recordsOf(user)).toHaveLength(1)
  })

  it('take half a megabyte, and no other method', async () => {
    for (const path of ['/v1/import/', '/v1/b']) {
      expect((await gateway.call('POST', path, { authorization: basic() }, filled(500_000))).status).toBe(200)
      expect((await gateway.call('POST', path, { authorization: basic() }, filled(520_000))).status).toBe(413)
      const other = await gateway.call('GET', path, {})
      expect([other.status, other.headers['allow']]).toEqual([405, 'POST'])
    }
  })
})

describe('what libraries send (decisions.md, Segment’s API)', () => {
  it('analytics-kotlin and Analytics-CSharp: gzip as text/plain, with the key in the body', async () => {
    const user = randomUUID()
    const context = {
      device: { type: 'android', id: 'd' },
      timezone: 'Etc/Unknown',
      os: { name: 'Android', version: '15' },
    }
    const message = {
      type: 'track',
      userId: user,
      anonymousId: 'a',
      event: 'Opened',
      properties: {},
      context,
      integrations: {},
    }
    const messages = JSON.stringify({ ...message, messageId: randomUUID(), timestamp: now(), _metadata: {} })
    const body = `{"batch":[${messages}],"sentAt":"${now()}","writeKey":"${gateway.keys.admin}"}`
    await deliver('/v1/b', { 'content-type': 'text/plain' }, body, true)
    expect(await recordsOf(user)).toMatchObject([{ type: 'EventTracked', eventName: 'Opened' }])
  })

  it('analytics-ruby and Analytics.NET: Basic, ISO times with a fraction and an offset', async () => {
    const user = randomUUID()
    const timestamp = now().replace('Z', '1234+00:00')
    const batch = [
      {
        type: 'identify',
        userId: user,
        traits: { plan: 'pro' },
        timestamp,
        messageId: randomUUID(),
        context: { library: {} },
      },
      {
        type: 'track',
        userId: user,
        event: 'Ordered',
        properties: { total: 12.5 },
        timestamp,
        messageId: randomUUID(),
      },
    ]
    const headers = { authorization: basic(), 'content-type': 'application/json; charset=utf-8' }
    await deliver('/v1/import', headers, JSON.stringify({ batch, sentAt: timestamp, context: {}, writeKey: 'x' }))
    expect(await recordsOf(user)).toMatchObject([
      { operations: { set: { plan: 'pro' } } },
      { eventName: 'Ordered', properties: { total: 12.5 } },
    ])
  })

  it('PHP’s empty arrays for empty objects', async () => {
    const user = randomUUID()
    const batch = [
      { type: 'identify', userId: user, traits: [], context: [], messageId: randomUUID() },
      { type: 'track', userId: user, event: 'a', properties: [], context: [], messageId: randomUUID() },
    ]
    await deliver(
      '/v1/batch',
      { authorization: basic(), 'content-type': 'application/json' },
      JSON.stringify({ batch }),
    )
    expect(await recordsOf(user)).toMatchObject([{ operations: {} }, { eventName: 'a', properties: {} }])
  })

  it('rudder-sdk-python and -ruby: traits only in the context', async () => {
    const user = randomUUID()
    const context = { library: { name: 'x' }, traits: { plan: 'pro', company: { seats: 3 } } }
    const batch = [
      { type: 'identify', userId: user, context, anonymousId: null, integrations: {}, messageId: randomUUID() },
    ]
    await deliver('/v1/batch', { authorization: basic() }, JSON.stringify({ batch, sentAt: now() }), true)
    expect(await recordsOf(user)).toMatchObject([{ operations: { set: { plan: 'pro', 'company.seats': 3 } } }])
  })

  it('a phone that slept: the time of the event is now, sentAt two weeks ago', async () => {
    const user = randomUUID()
    const timestamp = now()
    const sentAt = new Date(Date.now() - 14 * 86_400_000).toISOString()
    const batch = [{ type: 'track', userId: user, event: 'a', timestamp, messageId: randomUUID() }]
    await deliver('/v1/batch', { authorization: basic() }, JSON.stringify({ batch, sentAt }))
    expect(await recordsOf(user)).toMatchObject([{ occurredAt: timestamp }])
  })
})

describe('a refusal on Segment’s routes', () => {
  it('has Segment’s words, in the answer and in the list of refusals', async () => {
    const user = randomUUID()
    const event = { type: 'track', userId: user, event: 'a', messageId: randomUUID() }
    await send([event])
    const other = { ...event, event: 'b' }
    const number = { ...event, messageId: randomUUID(), type: 'identify', traits: { $countryCode: 'XX' } }
    const long = { ...event, messageId: randomUUID(), event: 'x'.repeat(101) }
    const { body } = await send([other, long, number])
    const message = 'messageId was used with another message: choose a new one'
    expect(body['rejected']).toMatchObject([
      { index: 0, status: 422, message },
      { index: 1, message: expect.stringMatching(/^event must/) },
      { index: 2 },
    ])
    await until(async () => (await listed()).some(({ reason }) => reason === 'keyOfAnother'))
    const messages = (await listed()).map((refusal) => refusal.message)
    expect(messages).toEqual(expect.arrayContaining([message, expect.stringMatching(/^event must/)]))
    expect(messages.join(' ')).not.toMatch(/Idempotency-Key|eventName|userAttributes/)
  })
})
