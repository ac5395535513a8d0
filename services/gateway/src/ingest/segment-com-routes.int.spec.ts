import { randomUUID } from 'node:crypto'
import { gzipSync } from 'node:zlib'
import { userIdOf } from '@nextvisit/domain'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type GatewayFixture, type GatewayFixtureOptions, startGateway } from '../../test/gateway-fixture.ts'
import { givenGateway, givenService } from '../../test/given-gateway.ts'
import { givenMetering } from '../../test/given-services.ts'

type Message = Readonly<Record<string, unknown>>

const newUser = () => `user-${randomUUID()}`
const basic = (text: string) => `Basic ${Buffer.from(text).toString('base64')}`
const identify = (userId: unknown, more: Message = {}) => ({
  type: 'identify',
  userId,
  messageId: randomUUID(),
  ...more,
})
const track = (userId: unknown, event: unknown, more: Message = {}) => ({
  type: 'track',
  userId,
  event,
  messageId: randomUUID(),
  ...more,
})

const newMessage = () => ({ userId: newUser(), messageId: randomUUID() })
const manyUsers = (count: number) => Array.from({ length: count }, (_, index) => identify(`user ${index}`))
const sentAt = () => new Date(Date.now() + Math.random() * 1_000).toISOString()

function send(gateway: GatewayFixture, path: string, body: object, headers: Record<string, string> = {}) {
  const json = { 'content-type': 'application/json', authorization: basic(`${gateway.keys.admin}:`) }
  return gateway.call('POST', path, { ...json, ...headers }, JSON.stringify(body))
}
const sendBatch = (gateway: GatewayFixture, batch: readonly unknown[], more: Message = {}) =>
  send(gateway, '/v1/batch', { batch, ...more })

const factsOf = async (gateway: GatewayFixture, userName: string) => {
  const userId = userIdOf(gateway.config.id, 'shop', userName)
  return (await gateway.records()).flatMap(({ fact }) => (fact.userId === userId ? [fact] : []))
}
const typesOf = async (gateway: GatewayFixture, userName: string) =>
  (await factsOf(gateway, userName)).map(({ type }) => type)

/** A gateway whose projector knows no user: users exist only if the gateway identified them. */
async function givenNobody(options: GatewayFixtureOptions = {}) {
  const projector = await givenService({
    lookUpUsers: async ({ questions }) => ({ answers: questions.map(() => ({ existence: 'missing' })) }),
  })
  return givenGateway({ ...options, services: { 'user-projector': projector.url, ...options.services } })
}

describe('Segment’s API (decisions.md, Segment’s API)', () => {
  let gateway: GatewayFixture
  beforeAll(async () => {
    gateway = await startGateway({ project: { allowedFields: ['$timezone', '$deviceOs', '$app', 'email'] } })
  })
  afterAll(() => gateway.stop())

  it('refuses only the messages with a number that JSON does not have, and names it', async () => {
    const [user, other] = [newUser(), newUser()]
    const headers = { authorization: basic(`${gateway.keys.admin}:`) }
    const messages = [
      `{"type":"identify","userId":"${user}","traits":{"plan":"pro","name":"NaN"}}`,
      `{"type":"identify","userId":"${other}","traits":{"company":{"score":NaN}}}`,
      `{"type":"track","userId":"${user}","event":"a","properties":{"list":[1,-Infinity]}}`,
      `{"type":"track","userId":"${user}","event":"a","properties":{"total":1.5},"context":{"screen":{"density":NaN}}}`,
      `{"type":"track","userId":Infinity,"event":"a"}`,
    ]
    const answer = await gateway.call('POST', '/v1/batch', headers, `{"batch":[${messages.join(', ')}]}`)
    expect(answer).toMatchObject({
      status: 200,
      body: {
        rejected: [
          { index: 1, status: 400, message: expect.stringContaining('traits.company.score must be a finite number') },
          { index: 2, status: 400, message: expect.stringContaining('properties.list[1] must be a finite number') },
          { index: 4, status: 400, message: expect.stringContaining('userId must be') },
        ],
      },
    })
    expect(await typesOf(gateway, user)).toEqual(['IdentifyRequested', 'EventTracked'])
    const one = await gateway.call('POST', '/v1/identify', headers, `{"userId":"${other}","traits":{"score":NaN}}`)
    expect(JSON.stringify(one.body)).toContain('traits.score must be a finite number')
    expect(await typesOf(gateway, other)).toEqual([])
    const admin = { 'content-type': 'application/json', 'x-api-key': gateway.keys.admin }
    const item = '{"type":"identify","userName":"ada","userAttributes":{"$set":{"score":NaN}}}'
    expect((await gateway.call('POST', '/v2/admin/batch', admin, `{"items":[${item}]}`)).status).toBe(400)
  })

  it('records a user with traits and context', async () => {
    const user = newUser()
    const answer = await send(gateway, '/v1/identify', {
      userId: user,
      traits: {
        email: 'a@b.c',
        phone: 'filtered',
        address: { city: 'filtered' },
        company: { plan: 'pro', seats: [1, 2] },
        bad: [{}],
        long: 'x'.repeat(501),
      },
      context: {
        timezone: 'Europe/Berlin',
        locale: 'de-DE',
        os: { name: 'iPhone OS', version: '19' },
        app: { name: 'Shop' },
        library: { name: 'x' },
      },
    })
    expect([answer.status, answer.body]).toEqual([200, { success: true, rejected: [] }])
    const [fact] = await factsOf(gateway, user)
    expect(fact).toMatchObject({
      type: 'IdentifyRequested',
      userName: user,
      operations: { set: { email: 'a@b.c', 'company.plan': 'pro', 'company.seats': [1, 2] } },
      device: { $timezone: 'Europe/Berlin', $deviceOs: 'iOS', $app: 'Shop' },
    })
    expect(JSON.stringify(fact)).not.toContain('filtered"')
  })

  it('records an event with properties, and corrects its time by the caller’s clock', async () => {
    const user = newUser()
    const aheadMs = 3_600_000
    const at = (agoMs: number) => new Date(Date.now() + aheadMs - agoMs).toISOString()
    const event = track(user, 'Order Completed', { properties: { total: 12 }, timestamp: at(60_000) })
    const answer = await sendBatch(gateway, [identify(user), event], { sentAt: at(0) })
    expect(answer.body).toEqual({ success: true, rejected: [] })
    const [, fact] = await factsOf(gateway, user)
    expect(fact).toMatchObject({ type: 'EventTracked', eventName: 'Order Completed', properties: { total: 12 } })
    const agoMs = Date.now() - Date.parse(fact?.type === 'EventTracked' ? fact.occurredAt : '')
    expect(agoMs).toBeGreaterThan(59_000)
    expect(agoMs).toBeLessThan(120_000)
  })

  it('answers 200 to messages without a user or of an ignored type, and records nothing', async () => {
    const user = newUser()
    const messages = [
      { type: 'track', anonymousId: 'a', event: 'x' },
      { type: 'page', userId: user },
      { type: 'screen', userId: user },
      { type: 'group', userId: user, groupId: 'g' },
      { type: 'alias', userId: user, previousId: 'p' },
    ]
    expect((await sendBatch(gateway, messages)).body).toEqual({ success: true, rejected: [] })
    for (const type of ['page', 'screen', 'group', 'alias'])
      expect((await send(gateway, `/v1/${type}`, { userId: user })).body).toEqual({ success: true, rejected: [] })
    expect(await factsOf(gateway, user)).toEqual([])
  })

  it('refuses a message alone, in Segment’s words, and records the others', async () => {
    const user = newUser()
    const messages = [
      identify(user),
      track(user, ''),
      track(user, 'a', { timestamp: 'yesterday' }),
      track({}, 'a'),
      null,
      { type: 'sing', userId: user },
      { type: 'track', event: 'a' },
      track(user, 'a', { properties: { text: 'x'.repeat(33_000) } }),
      track(user, 'a\u0000'),
      track(user, 'last'),
    ]
    const { status, body } = await sendBatch(gateway, messages)
    expect(status).toBe(200)
    const rejected = body['rejected'] as readonly Message[]
    expect(rejected.map(({ index, status: ofItem }) => [index, ofItem])).toEqual([
      [1, 400],
      [2, 400],
      [3, 400],
      [4, 400],
      [5, 400],
      [6, 400],
      [7, 413],
      [8, 400],
    ])
    expect(rejected[0]).toMatchObject({ messageId: (messages[1] as Message)['messageId'] })
    expect(rejected.slice(0, 3).map(({ message }) => String(message).split(' ')[0])).toEqual([
      'event',
      'timestamp',
      'userId',
    ])
    expect(await typesOf(gateway, user)).toEqual(['IdentifyRequested', 'EventTracked'])
  })

  it('answers 400 to a strict caller; messages that are not refused are recorded', async () => {
    const user = newUser()
    const answer = await send(
      gateway,
      '/v1/batch',
      { batch: [identify(user), track(user, '')] },
      { 'x-strict-mode': '1' },
    )
    expect(answer.body).toMatchObject({ status: 400, message: expect.stringContaining('message 1: event must be') })
    expect(await typesOf(gateway, user)).toEqual(['IdentifyRequested'])
    const strict = await send(gateway, '/v1/identify', { userId: user }, { 'x-strict-mode': '1' })
    expect(strict.status).toBe(200)
  })

  it('records a message once, even if it is sent repeatedly and in different batches', async () => {
    const user = newUser()
    const event = track(user, 'a', { timestamp: new Date().toISOString() })
    await sendBatch(gateway, [identify(user), event], { sentAt: sentAt() })
    await sendBatch(gateway, [{ ...event, sentAt: sentAt() }, event], { sentAt: sentAt() })
    await Promise.all(Array.from({ length: 5 }, () => sendBatch(gateway, [event], { sentAt: sentAt() })))
    const { type: _type, ...alone } = event
    expect((await send(gateway, '/v1/track', alone)).body).toEqual({ success: true, rejected: [] })
    expect(await typesOf(gateway, user)).toEqual(['IdentifyRequested', 'EventTracked'])
    const changed = await sendBatch(gateway, [{ ...event, event: 'b' }])
    expect(changed.body['rejected']).toMatchObject([{ status: 422 }])
  })

  it('accepts message ids of any form', async () => {
    const user = newUser()
    const messageIds = [7, 'with spaces ✓', 'x'.repeat(300), '']
    const events = messageIds.map((messageId) => track(user, 'a', { messageId }))
    await sendBatch(gateway, [identify(user), ...events])
    await sendBatch(gateway, events.slice(0, 3))
    expect(await typesOf(gateway, user)).toHaveLength(5)
  })

  it('accepts any Content-Type, since libraries that compress send a wrong one', async () => {
    const headers = { 'content-type': 'application/x-www-form-urlencoded', 'content-encoding': 'gzip' }
    const keyed = { ...headers, authorization: basic(`${gateway.keys.admin}:`) }
    const answer = await gateway.call('POST', '/v1/batch', keyed, gzipSync(JSON.stringify({ batch: manyUsers(2) })))
    expect(answer.body).toEqual({ success: true, rejected: [] })
  })

  describe('the write key', () => {
    const json = { 'content-type': 'application/json' }
    const call = (content: string | Buffer, headers: Record<string, string> = {}) =>
      gateway.call('POST', '/v1/identify', { ...json, ...headers }, content)

    it('is an admin key, by Basic authentication, in the body, or in X-Api-Key', async () => {
      const { admin } = gateway.keys
      const answers = [
        await call(JSON.stringify(newMessage()), { authorization: basic(`${admin}:`) }),
        await call(JSON.stringify(newMessage()), { authorization: basic(admin) }),
        await call(JSON.stringify({ ...newMessage(), writeKey: admin })),
        await call(gzipSync(JSON.stringify({ writeKey: admin, ...newMessage() })), { 'content-encoding': 'gzip' }),
        await call(JSON.stringify(newMessage()), { 'x-api-key': admin }),
      ]
      expect(answers.map(({ status }) => status)).toEqual([200, 200, 200, 200, 200])
    })

    it('is refused if it is unknown, missing, or elsewhere in the body', async () => {
      const { admin, sdk } = gateway.keys
      const other = `${admin.slice(0, -1)}${admin.endsWith('a') ? 'b' : 'a'}`
      const answers = [
        await call(JSON.stringify(newMessage())),
        await call('not json'),
        await call(JSON.stringify({ ...newMessage(), writeKey: other })),
        await call(JSON.stringify({ ...newMessage(), traits: { writeKey: admin } })),
        await call(JSON.stringify(newMessage()), { authorization: basic(`:${admin}`) }),
        await call(JSON.stringify(newMessage()), { authorization: `Bearer ${admin}` }),
        await call(JSON.stringify({ ...newMessage(), writeKey: sdk })),
        await call(JSON.stringify(newMessage()), { authorization: basic(`${sdk}:`) }),
      ]
      expect(answers.map(({ status }) => status)).toEqual([401, 401, 401, 401, 401, 401, 403, 403])
    })
  })
})

describe('an event of an unknown user', () => {
  it('identifies the user first, once', async () => {
    const gateway = await givenNobody()
    const user = newUser()
    const context = { timezone: 'Europe/Berlin' }
    const events = [track(user, 'a', { context }), track(user, 'b'), track(user, 'c')]
    expect((await sendBatch(gateway, events)).body).toEqual({ success: true, rejected: [] })
    expect(await factsOf(gateway, user)).toMatchObject([
      { type: 'IdentifyRequested', userName: user, device: { $timezone: 'Europe/Berlin' } },
      { type: 'EventTracked', eventName: 'a' },
      { type: 'EventTracked', eventName: 'b' },
      { type: 'EventTracked', eventName: 'c' },
    ])
  })

  it('also identifies the user after a refused identify', async () => {
    const gateway = await givenNobody()
    const user = newUser()
    const refused = identify(user, { traits: { $countryCode: 'XX' } })
    const { body } = await sendBatch(gateway, [refused, track(user, 'a'), refused, track(user, 'b'), identify(user)])
    expect(body['rejected']).toMatchObject([{ index: 0 }, { index: 2 }])
    expect(await typesOf(gateway, user)).toEqual([
      'IdentifyRequested',
      'EventTracked',
      'EventTracked',
      'IdentifyRequested',
    ])
  })

  it('is refused if the project is configured so', async () => {
    const gateway = await givenNobody({ project: { segment: { createUsers: false } } })
    const [user, known] = [newUser(), newUser()]
    const { body } = await sendBatch(gateway, [track(user, 'a'), identify(known), track(known, 'a')])
    expect(body['rejected']).toMatchObject([{ index: 0, status: 404, message: 'User not found' }])
    expect(await typesOf(gateway, known)).toEqual(['IdentifyRequested', 'EventTracked'])
  })

  it('is recorded before a later identify', async () => {
    const gateway = await givenNobody({ project: { segment: { createUsers: false } } })
    const [late, known] = [newUser(), newUser()]
    await sendBatch(gateway, [identify(known)])
    const { body } = await sendBatch(gateway, [track(late, 'a'), identify(late), track(known, 'a'), identify(known)])
    expect(body['rejected']).toMatchObject([{ index: 0, status: 404 }])
    expect(await typesOf(gateway, late)).toEqual(['IdentifyRequested'])
    expect(await typesOf(gateway, known)).toEqual(['IdentifyRequested', 'EventTracked', 'IdentifyRequested'])
  })

  it('is refused if its identify is', async () => {
    const metering = await givenMetering(0)
    const gateway = await givenNobody({ plan: { monthlyActiveUsers: 0 }, services: { metering: metering.url } })
    const user = newUser()
    const { body } = await sendBatch(gateway, [track(user, 'a'), track(user, 'b')])
    expect(body['rejected']).toMatchObject([{ status: 400 }, { status: 400 }])
    expect(await factsOf(gateway, user)).toEqual([])
  })
})

describe('a Segment request as a whole', () => {
  it('pays for each of its messages', async () => {
    const gateway = await givenGateway({ project: { rateLimits: { admin: { perSecond: 1 / 3_600, burst: 5 } } } })
    expect((await sendBatch(gateway, manyUsers(4))).status).toBe(200)
    const refused = await sendBatch(gateway, manyUsers(2))
    expect([refused.status, Number(refused.headers['retry-after']) > 0]).toEqual([429, true])
  })

  it('is answered 503 if it could not be recorded, so that the library sends it again', async () => {
    const gateway = await givenGateway({ brokers: '127.0.0.1:1' })
    const answer = await sendBatch(gateway, [identify('ada'), track('ada', '')])
    expect([answer.status, answer.headers['retry-after']]).toEqual([503, '1'])
    expect(answer.body).toMatchObject({ status: 503 })
    const unnamedPage = { type: 'page', userId: 'ada' }
    expect((await sendBatch(gateway, [unnamedPage, identify('ada')])).status).toBe(503)
  })

  it('is refused if it is not a batch', async () => {
    const gateway = await givenGateway({})
    const answers = [
      await send(gateway, '/v1/batch', {}),
      await sendBatch(
        gateway,
        Array.from({ length: 2_501 }, () => 0),
      ),
      await sendBatch(gateway, ['x'.repeat(512_000)]),
    ]
    expect(answers.map(({ status }) => status)).toEqual([400, 400, 413])
  })
})
