import { randomUUID } from 'node:crypto'
import {
  decodeRecord,
  encodeRecord,
  ErasureFact,
  type ErasureRequested,
  type ErasureSummary,
} from '@nextvisit/contracts'
import { hashApiKey, keyTimeMs, userIdOf } from '@nextvisit/domain'
import { createPublisher, readLog } from '@nextvisit/log'
import { NOT_FOUND } from '@nextvisit/service-kit'
import { createDataKey, createInstallationKeys, type WrappedKey } from '@nextvisit/sealing'
import { givenKeyRing } from '@nextvisit/sealing/test/given-key-ring.ts'
import { describe, expect, inject, it, onTestFinished, vi } from 'vitest'
import { type GatewayFixture, type GatewayFixtureOptions, newKey } from '../../test/gateway-fixture.ts'
import { givenGateway, givenService } from '../../test/given-gateway.ts'
import type { ServiceAnswers } from '../../test/service-fixture.ts'

const PATH = '/v2/admin/erasures'
const SUPPRESSIONS = '/v2/admin/suppressions'
const KEY_RING = givenKeyRing('ab'.repeat(32))
const KEYS = createInstallationKeys(KEY_RING)

/** A gateway that follows erasures. `existing`: the userNames with a profile; the others are missing. */
async function givenErasingGateway(
  existing: readonly string[] = [],
  { answers = {}, ...options }: GatewayFixtureOptions & { readonly answers?: ServiceAnswers } = {},
) {
  const names = new Set(existing)
  const users = await givenService({
    lookUpUsers: async ({ questions }) => ({
      answers: questions.map(({ organization, project, userId }) => {
        const isKnown = [...names].some((name) => userIdOf(organization, project, name) === userId)
        return { existence: isKnown ? ('exists' as const) : ('missing' as const) }
      }),
    }),
    readInstallationKeys: async () => KEYS,
    ...answers,
  })
  const services = { 'user-projector': users.url, 'user-eraser': users.url, 'form-trigger-evaluator': users.url }
  const gateway = await givenGateway({ withErasures: true, keyRing: KEY_RING, services, ...options })
  return { gateway, users, idOf: (name: string) => userIdOf(gateway.config.id, 'shop', name) }
}

async function factsOf({ erasuresTopic = '' }: GatewayFixture): Promise<readonly ErasureFact[]> {
  const facts: ErasureFact[] = []
  await readLog(
    { brokers: inject('kafkaBrokers').split(','), clientId: 'spec' },
    {
      topic: erasuresTopic,
      from: new Map([[0, 0n]]),
      until: 'end',
      onBatch: ({ records }) => {
        for (const { value, headers } of records) {
          const decoded = decodeRecord(ErasureFact, value, headers)
          if (decoded.outcome === 'ok') facts.push(decoded.fact)
        }
      },
    },
  )
  return facts
}

/** Publishes requests that suppress so many users of the project. */
async function suppressMany({ erasuresTopic = '', config }: GatewayFixture, count: number): Promise<void> {
  const publisher = createPublisher({ brokers: inject('kafkaBrokers').split(','), clientId: 'spec' })
  await publisher.start()
  onTestFinished(() => publisher.stop(1_000))
  const received = new Date().toISOString()
  const about = { organization: config.id, project: 'shop', received, unknown: 0, suppress: true }
  for (let from = 0; from < count; from += 1_000) {
    const userIds = Array.from({ length: Math.min(1_000, count - from) }, () => randomUUID())
    const fact = { type: 'ErasureRequested', id: randomUUID(), ...about, userIds } as const
    const record = encodeRecord(fact, { source: 'spec', time: received })
    const outcome = await publisher.publish(
      { topic: erasuresTopic, partition: 0, key: fact.id, ...record },
      performance.now() + 10_000,
    )
    expect(outcome).toMatchObject({ outcome: 'published' })
  }
}

/** Calls a gateway as an operator's tool does, without a key. */
async function askAsOperator({ gateway }: GatewayFixture, path: string, question: object): Promise<unknown> {
  const route = gateway.internalRoutes.find((one) => one.path === path)
  const context = { signal: new AbortController().signal, deadlineAt: performance.now() + 10_000 }
  return route?.handle(route.question.parse(question), context)
}

function identify(on: GatewayFixture, userName: string) {
  return on.identify({ userName })
}

const json = { 'content-type': 'application/json' }

describe('POST /v2/admin/erasures', () => {
  it('publishes the request without names, counts distinct and unknown users, and answers 202', async () => {
    const { gateway, idOf } = await givenErasingGateway(['ada'])
    const reply = await gateway.erase({ userNames: ['ada', 'bob', 'ada'] })
    expect(reply.status).toBe(202)
    const { requestedAt, ...answered } = reply.body
    expect(answered).toEqual({ erasureId: reply.headers['x-request-id'], users: 2, unknown: 1, status: 'running' })
    expect(Math.abs(Date.now() - Date.parse(String(requestedAt)))).toBeLessThan(60_000)
    const facts = await factsOf(gateway)
    expect(facts).toEqual([
      {
        type: 'ErasureRequested',
        id: answered['erasureId'],
        organization: gateway.config.id,
        project: 'shop',
        received: requestedAt,
        userIds: [idOf('ada'), idOf('bob')],
        unknown: 1,
        suppress: false,
      },
    ])
    expect(JSON.stringify(facts)).not.toContain('"ada"')
  })

  it.each([
    ['a body without names', {}, 400, 'userNames must be an array of 1 to 1000 userNames'],
    ['a name that is none', { userNames: ['ada', ' '] }, 400, 'userNames[1] must be a string that is not empty'],
    ['a suppress of another type', { userNames: ['ada'], suppress: 'no' }, 400, 'suppress must be true or false'],
    ['text that cannot be stored', { userNames: ['a\u0000'] }, 400, 'must not contain U+0000'],
  ])('refuses %s, keeps the refusal without a name, and publishes nothing', async (_what, body, status, message) => {
    const { gateway } = await givenErasingGateway()
    const reply = await gateway.erase(body)
    expect(reply).toMatchObject({ status, body: { message: expect.stringContaining(message) } })
    await expect
      .poll(async () => (await gateway.get('/v2/admin/refusals')).body['refusals'], { timeout: 10_000 })
      .toMatchObject([{ route: PATH, message: expect.stringContaining(message) }])
    expect((await gateway.get('/v2/admin/refusals')).text).not.toContain('ada')
    expect(await factsOf(gateway)).toEqual([])
  })

  it('takes 1,000 names of 255 characters, for one token each', async () => {
    const rateLimits = { admin: { perSecond: 1, burst: 1_000 } }
    const { gateway } = await givenErasingGateway([], { project: { rateLimits } })
    const userNames = Array.from({ length: 1_000 }, (_, nth) => `${nth}`.padEnd(255, 'x'))
    const reply = await gateway.erase({ userNames: userNames.slice(0, 990) })
    expect(reply).toMatchObject({ status: 202, body: { users: 990, unknown: 990 } })
    expect(reply.headers['ratelimit']).toMatch(/r=(?:9|1\d);/)
    expect((await gateway.erase({ userNames })).status).toBe(429)
    const { gateway: other } = await givenErasingGateway()
    expect(await other.erase({ userNames })).toMatchObject({ status: 202, body: { users: 1_000 } })
    expect(await other.erase({ userNames: [...userNames, 'one more'] })).toMatchObject({ status: 400 })
  })

  it('begins one erasure for repeats under an Idempotency-Key, even after Redis lost the answer', async () => {
    const { gateway } = await givenErasingGateway(['ada'])
    const headers = { ...json, 'x-api-key': gateway.keys.eraser, 'idempotency-key': 'request-117' }
    const send = (body: object, extra: object = {}) =>
      gateway.call('POST', PATH, { ...headers, ...extra }, JSON.stringify(body))
    const first = await send({ userNames: ['ada'] })
    const repeat = await send({ userNames: ['ada'] })
    expect(repeat).toMatchObject({ status: 202, text: first.text, headers: { 'idempotent-replayed': 'true' } })
    const kept = await gateway.redis.keys(`${gateway.redisPrefix}answer:*`)
    expect(await gateway.redis.del(...kept)).toBe(1)
    const afterLoss = await send({ userNames: ['ada'] })
    expect(afterLoss).toMatchObject({ status: 202, text: first.text })
    expect(afterLoss.headers['idempotent-replayed']).toBeUndefined()
    expect(await factsOf(gateway)).toHaveLength(1)
    expect(await send({ userNames: ['bob'] })).toMatchObject({ status: 422 })
    expect(await send({ userNames: ['ada'] }, { 'idempotency-key': 'two words' })).toMatchObject({ status: 400 })
    expect((await gateway.erase({ userNames: ['ada'] })).body['erasureId']).not.toBe(first.body['erasureId'])
  })

  it('recognizes a repeat after midnight UTC without the kept answer, and begins a new erasure 24 hours later', async () => {
    const { gateway } = await givenErasingGateway(['ada'])
    const headers = { ...json, 'x-api-key': gateway.keys.eraser, 'idempotency-key': 'request-117' }
    vi.useFakeTimers({ toFake: ['Date'] })
    onTestFinished(() => void vi.useRealTimers())
    const eraseAt = async (instant: string) => {
      vi.setSystemTime(instant)
      const reply = await gateway.call('POST', PATH, headers, JSON.stringify({ userNames: ['ada'] }))
      await gateway.redis.del(...(await gateway.redis.keys(`${gateway.redisPrefix}answer:*`)))
      expect(reply.status).toBe(202)
      return reply
    }
    const first = await eraseAt('2026-11-02T23:59:59.999Z')
    expect((await eraseAt('2026-11-03T00:00:00.000Z')).text).toBe(first.text)
    expect((await eraseAt('2026-11-03T23:59:59.998Z')).text).toBe(first.text)
    const later = await eraseAt('2026-11-03T23:59:59.999Z')
    expect(later.body['erasureId']).not.toBe(first.body['erasureId'])
    expect((await eraseAt('2026-11-04T12:00:00.000Z')).text).toBe(later.text)
    expect((await factsOf(gateway)).map(({ id }) => id)).toEqual([first.body['erasureId'], later.body['erasureId']])
  })

  it('names the newest key of its users if the clock that made it is ahead, so that the fence covers it', async () => {
    const keys = new Map<string, WrappedKey>()
    const { gateway, idOf } = await givenErasingGateway([], {
      answers: {
        lookUpUsers: async ({ questions }) => ({
          answers: questions.map(({ userId }) => ({ existence: 'exists', key: keys.get(userId) })),
        }),
      },
    })
    for (const [name, aheadMs] of [
      ['ada', -3_600_000],
      ['bob', 3_600_000],
    ] as const)
      keys.set(idOf(name), createDataKey(KEY_RING, idOf(name), Date.now() + aheadMs).wrapped)
    for (const userNames of [['ada'], ['ada', 'bob']]) expect((await gateway.erase({ userNames })).status).toBe(202)
    const [ofAda, ofBoth] = (await factsOf(gateway)) as ErasureRequested[]
    expect(ofAda).not.toHaveProperty('newestKeyAt')
    expect(Date.parse(ofBoth?.newestKeyAt ?? '')).toBe(keyTimeMs(keys.get(idOf('bob'))?.keyId ?? ''))
    expect(Date.parse(ofBoth?.received ?? '')).toBeLessThan(Date.now() + 60_000)
  })

  it('answers 503, and publishes nothing, while it cannot tell which users exist', async () => {
    const first = ['unknown' as const]
    const lagging: ServiceAnswers = {
      lookUpUsers: async ({ questions }) => ({
        answers: questions.map(() => ({ existence: questions.length === 2 ? (first.pop() ?? 'exists') : 'unknown' })),
      }),
    }
    const { gateway } = await givenErasingGateway([], { answers: lagging })
    const reply = await gateway.erase({ userNames: ['ada', 'bob'] })
    expect(reply).toMatchObject({ status: 503, headers: { 'retry-after': '1' } })
    const { gateway: alone } = await givenErasingGateway([], { services: {} })
    expect((await alone.erase({ userNames: ['ada'] })).status).toBe(503)
    expect([...(await factsOf(gateway)), ...(await factsOf(alone))]).toEqual([])
  })

  it('asks again about the users of a projector that lags for a moment', async () => {
    const asked: number[] = []
    const { gateway } = await givenErasingGateway([], {
      answers: {
        lookUpUsers: async ({ questions }) => {
          asked.push(questions.length)
          const first = asked.length === 1 ? ('unknown' as const) : ('missing' as const)
          return { answers: questions.map((_, nth) => ({ existence: nth === 0 ? first : ('exists' as const) })) }
        },
      },
    })
    const reply = await gateway.erase({ userNames: ['ada', 'bob', 'eve'] })
    expect(reply).toMatchObject({ status: 202, body: { users: 3, unknown: 1 } })
    expect(asked).toEqual([3, 1])
  })

  it('takes one token for each name, also for a repeated one', async () => {
    const rateLimits = { admin: { perSecond: 1, burst: 100 } }
    const { gateway } = await givenErasingGateway([], { project: { rateLimits } })
    const userNames = Array.from({ length: 80 }, () => 'ada')
    const reply = await gateway.erase({ userNames })
    expect(reply).toMatchObject({ status: 202, body: { users: 1 } })
    expect(reply.headers['ratelimit']).toMatch(/r=(?:2\d|3[0-4]);/)
    expect((await gateway.erase({ userNames })).status).toBe(429)
  })

  it('takes a key of environment T with mayErase, which erases the same users as a key of P', async () => {
    const [production, test, withoutPermission] = [newKey('admin', 'P'), newKey('admin', 'T'), newKey('admin', 'T')]
    const keys = [
      { name: 'P', kind: 'admin', environment: 'P', sha256: hashApiKey(production), mayErase: true },
      { name: 'T', kind: 'admin', environment: 'T', sha256: hashApiKey(test), mayErase: true },
      { name: 'T without', kind: 'admin', environment: 'T', sha256: hashApiKey(withoutPermission) },
    ] as const
    const { gateway, idOf } = await givenErasingGateway(['ada'], { project: { keys: [...keys] } })
    const body = { userNames: ['ada'] }
    for (const key of [production, test])
      expect(await gateway.erase(body, key)).toMatchObject({ status: 202, body: { users: 1, unknown: 0 } })
    expect((await gateway.erase(body, withoutPermission)).status).toBe(403)
    const facts = await factsOf(gateway)
    expect(facts).toMatchObject([{ userIds: [idOf('ada')] }, { userIds: [idOf('ada')] }])
    expect((await gateway.get(SUPPRESSIONS, test)).status).toBe(200)
    expect((await gateway.get(SUPPRESSIONS, withoutPermission)).status).toBe(403)
  })

  it('returns 405 and 413 like other routes', async () => {
    const { gateway } = await givenErasingGateway()
    const headers = { ...json, 'x-api-key': gateway.keys.eraser }
    const put = await gateway.call('PUT', PATH, headers)
    expect(put).toMatchObject({ status: 405, headers: { allow: 'POST, GET, HEAD' } })
    const post = await gateway.call('POST', `${SUPPRESSIONS}/ada`, headers, '{}')
    expect(post).toMatchObject({ status: 405, headers: { allow: 'DELETE' } })
    const large = JSON.stringify({ userNames: ['ada'], x: 'x'.repeat(512_000) })
    expect((await gateway.call('POST', PATH, headers, large)).status).toBe(413)
    expect((await gateway.get(`${PATH}/x/y`, gateway.keys.eraser)).status).toBe(404)
  })
})

it.each([
  ['POST', PATH],
  ['GET', PATH],
  ['GET', `${PATH}/${randomUUID()}`],
  ['GET', SUPPRESSIONS],
  ['DELETE', `${SUPPRESSIONS}/ada`],
])('%s %s needs a key with mayErase', async (method, path) => {
  const { gateway } = await givenErasingGateway()
  const body = method === 'POST' ? JSON.stringify({ userNames: ['ada'] }) : undefined
  const ask = (key: string) => gateway.call(method, path, { ...json, 'x-api-key': key }, body)
  const refusal = await ask(gateway.keys.admin)
  expect(refusal).toMatchObject({ status: 403, body: { message: expect.stringContaining('mayErase: true') } })
  expect(await ask(gateway.keys.sdk)).toMatchObject({ status: 403, body: { message: 'This route needs an admin key' } })
  expect((await ask('nv_admin_unknown')).status).toBe(401)
  expect((await ask(gateway.keys.eraser)).status).not.toBe(403)
  expect(await factsOf(gateway)).toHaveLength(method === 'POST' ? 1 : 0)
})

describe('reads of erasures', () => {
  const summary: ErasureSummary = {
    erasureId: randomUUID(),
    requestedAt: '2026-11-02T10:00:00.000Z',
    status: 'running',
    users: 1,
    unknown: 0,
    suppress: false,
    stores: [],
  }

  it('come from the user eraser, for the project of the key', async () => {
    const { gateway, users } = await givenErasingGateway([], {
      answers: {
        readErasure: async () => summary,
        listErasures: async () => ({ erasures: [summary], next: summary.erasureId }),
      },
    })
    const read = (path: string) => gateway.get(path, gateway.keys.eraser)
    expect(await read(`${PATH}/${summary.erasureId}`)).toMatchObject({ status: 200, body: summary })
    const page = await read(`${PATH}?limit=1000&after=${summary.erasureId}`)
    expect(page).toMatchObject({ status: 200, body: { erasures: [summary], next: summary.erasureId } })
    expect(users.calls.map(({ name, question }) => [name, question])).toEqual([
      ['readErasure', { organization: gateway.config.id, project: 'shop', erasureId: summary.erasureId }],
      ['listErasures', { organization: gateway.config.id, project: 'shop', limit: 1_000, after: summary.erasureId }],
    ])
    expect((await read(`${PATH}?after=ada`)).status).toBe(400)
    for (const limit of ['0', '1001']) expect((await read(`${PATH}?limit=${limit}`)).status).toBe(400)
    expect((await read(`${PATH}/ada`)).status).toBe(404)
  })

  it('are 404 for an unknown erasure, and 503 while the eraser does not answer', async () => {
    const { gateway } = await givenErasingGateway([], { answers: { readErasure: async () => NOT_FOUND } })
    const unknown = await gateway.get(`${PATH}/${randomUUID()}`, gateway.keys.eraser)
    expect(unknown).toMatchObject({ status: 404, body: { message: 'Erasure not found' } })
    expect((await gateway.get(PATH, gateway.keys.eraser)).status).toBe(503)
  })
})

describe('a projector that has not folded an erasure', () => {
  const at = '2026-11-02T10:00:00.000Z'

  it.each([
    ['suppressed', true],
    ['erased', false],
  ])('shows no %s user, and the others', async (_which, suppress) => {
    const names = ['ada', 'bob']
    let lags: { readonly stale?: true } = { stale: true }
    const { gateway, idOf } = await givenErasingGateway(names, {
      project: { segments: [{ id: 'all', name: 'All', where: { trait: 'plan', is: 'pro' } }] },
      answers: {
        readUser: async ({ userId }) => {
          const about = { traits: {}, country: null, device: {}, events: {}, segments: [] }
          return { userId, userName: 'x', ...about, firstSeenAt: at, lastSeenAt: at, ...lags }
        },
        readQueue: async () => ({ waiting: [] }),
        readSegmentMembers: async () => ({
          users: names.map((userName) => ({ userId: idOf(userName), userName, since: at })),
          next: null,
          ...lags,
        }),
      },
    })
    const read = async () => {
      const users = await Promise.all(names.map((name) => gateway.get(`/v2/admin/users/${name}`)))
      const members = await gateway.get('/v2/admin/segments/all/users')
      const listed = members.body['users'] as { readonly userName: string }[]
      return [...users.map(({ status }) => status), ...listed.map(({ userName }) => userName)]
    }
    expect(await read()).toEqual([200, 200, 'ada', 'bob'])
    expect((await gateway.erase({ userNames: ['ada'], suppress })).status).toBe(202)
    await expect.poll(read, { timeout: 2_000 }).toEqual([503, 200, 'bob'])
    // Once it has caught up, it shows only users who have returned.
    lags = {}
    expect(await read()).toEqual([200, 200, 'ada', 'bob'])
  })
})

describe('a suppressed user', () => {
  const VISIT = { userName: 'ada' }

  it('is refused by every gateway within a second, on every route, until the suppression is deleted', async () => {
    const { gateway, users, idOf } = await givenErasingGateway(['ada', 'bob'])
    const services = { 'user-projector': users.url, 'user-eraser': users.url }
    const other = await givenGateway({ besides: gateway, services, keyRing: KEY_RING })
    expect((await identify(gateway, 'ada')).status).toBe(200)
    const erased = await gateway.erase({ userNames: ['ada'], suppress: true })
    expect(erased.status).toBe(202)
    // The gateway that answered knows it at once.
    const refused = await identify(gateway, 'ada')
    expect(refused).toMatchObject({ status: 403, body: { error: 'Forbidden', message: 'User is suppressed' } })
    await expect.poll(async () => (await identify(other, 'ada')).status, { timeout: 1_000 }).toBe(403)

    expect((await other.track({ userName: 'ada', eventName: 'A' })).status).toBe(403)
    expect((await other.visit(VISIT)).status).toBe(403)
    expect((await other.post('/v2/sdk/track-event', { ...VISIT, eventName: 'A' }, other.keys.sdk)).status).toBe(403)
    const items = [
      { type: 'identify', userName: 'bob' },
      { type: 'track', userName: 'ada', eventName: 'A' },
      { type: 'identify', userName: 'ada' },
    ]
    const batch = await other.post('/v2/admin/batch', { items })
    expect(batch).toMatchObject({ status: 200, body: { results: [{ status: 200 }, { status: 403 }, { status: 403 }] } })
    const messages = [
      { type: 'track', userId: 'bob', event: 'A', messageId: '1' },
      { type: 'track', userId: 'ada', event: 'A', messageId: '2' },
      { type: 'identify', userId: 'ada', messageId: '3' },
    ]
    const segment = await other.post('/v1/batch', { batch: messages })
    const rejected = { status: 403, message: 'User is suppressed' }
    expect(segment).toMatchObject({
      status: 200,
      body: {
        success: true,
        rejected: [
          { index: 1, messageId: '2', ...rejected },
          { index: 2, ...rejected },
        ],
      },
    })
    const recorded = await gateway.records()
    expect(recorded.filter(({ fact }) => fact.userId === idOf('ada'))).toHaveLength(1)

    const deleted = await other.call('DELETE', `${SUPPRESSIONS}/ada`, { 'x-api-key': other.keys.eraser })
    expect(deleted).toMatchObject({ status: 204, text: '' })
    expect((await identify(other, 'ada')).status).toBe(200)
    await expect.poll(async () => (await identify(gateway, 'ada')).status, { timeout: 1_000 }).toBe(200)
    const again = await other.call('DELETE', `${SUPPRESSIONS}/ada`, { 'x-api-key': other.keys.eraser })
    expect(again).toMatchObject({ status: 404, body: { message: 'User is not suppressed' } })
  })

  it('leaves no userId in the list of refusals, and a repeat with an Idempotency-Key is refused, too', async () => {
    const { gateway } = await givenErasingGateway(['ada'])
    const repeat = () =>
      gateway.call(
        'POST',
        '/v2/admin/identify-user',
        { ...json, 'x-api-key': gateway.keys.admin, 'idempotency-key': 'once' },
        JSON.stringify({ userName: 'ada' }),
      )
    expect((await repeat()).status).toBe(200)
    await gateway.erase({ userNames: ['ada'], suppress: true })
    expect((await repeat()).status).toBe(403)
    await expect
      .poll(async () => (await gateway.get('/v2/admin/refusals?reason=suppressed')).body['refusals'], {
        timeout: 10_000,
      })
      .toEqual([expect.not.objectContaining({ userId: expect.anything() })])
  })

  it('is listed by a keyed hash, in pages, and in no other project', async () => {
    const { gateway, idOf } = await givenErasingGateway()
    const list = (query = '') => gateway.get(`${SUPPRESSIONS}${query}`, gateway.keys.eraser)
    expect(await list()).toMatchObject({ status: 200, body: { suppressions: [], next: null } })
    const one = await gateway.erase({ userNames: ['ada', 'bob'], suppress: true })
    const two = await gateway.erase({ userNames: ['eve'], suppress: true })
    const first = await list('?limit=2')
    const next = String(first.body['next'])
    const rest = await list(`?limit=2&after=${next}`)
    const entries = [first, rest].flatMap(({ body }) => body['suppressions'] as { hash: string; erasureId: string }[])
    expect(entries.map(({ erasureId }) => erasureId)).toEqual([
      one.body['erasureId'],
      one.body['erasureId'],
      two.body['erasureId'],
    ])
    expect(rest.body['next']).toBeNull()
    expect(new Set(entries.map(({ hash }) => hash)).size).toBe(3)
    expect(first.text).not.toContain(idOf('ada'))
    expect((await list('?after=ada')).status).toBe(400)
  })

  it('is one of at most 100,000 of a project: more are refused, until suppressions are deleted', async () => {
    const { gateway, idOf } = await givenErasingGateway()
    await suppressMany(gateway, 99_999)
    const readLast = () => gateway.get(`${SUPPRESSIONS}?after=99-997`, gateway.keys.eraser)
    await expect.poll(async () => (await readLast()).body['suppressions'], { timeout: 20_000 }).toHaveLength(1)
    const last = { userNames: ['ada'], suppress: true }
    expect((await gateway.erase(last)).status).toBe(202)
    expect((await gateway.erase(last)).status).toBe(202)

    const headers = { ...json, 'x-api-key': gateway.keys.eraser, 'idempotency-key': 'request-118' }
    const suppressBob = () =>
      gateway.call('POST', PATH, headers, JSON.stringify({ userNames: ['ada', 'bob'], suppress: true }))
    const message =
      'A project may have at most 100,000 suppressed users: delete suppressions, or erase without suppress'
    expect(await suppressBob()).toMatchObject({ status: 400, body: { message } })
    expect((await identify(gateway, 'bob')).status).toBe(200)
    expect((await gateway.erase({ userNames: ['bob'] })).status).toBe(202)

    const lifted = await gateway.call('DELETE', `${SUPPRESSIONS}/ada`, { 'x-api-key': gateway.keys.eraser })
    expect(lifted.status).toBe(204)
    expect((await suppressBob()).status).toBe(400)
    expect((await gateway.erase({ userNames: ['bob'], suppress: true })).status).toBe(202)
    expect((await identify(gateway, 'bob')).status).toBe(403)
    expect(await factsOf(gateway)).not.toContainEqual(expect.objectContaining({ userIds: [idOf('ada'), idOf('bob')] }))
  })

  it('is not admitted by a gateway that has not read the erasures yet, which is not ready', async () => {
    const { gateway, idOf } = await givenErasingGateway()
    // Its view reads a topic that does not exist.
    const unread = await givenGateway({
      besides: { ...gateway, erasuresTopic: `missing-${randomUUID()}` },
      waitsForErasures: false,
    })
    expect(await unread.identify({ userName: 'ada' })).toMatchObject({
      status: 503,
      body: { message: 'Suppressed users were not read yet: try again' },
    })
    const ready = await unread.call('GET', '/readyz')
    expect(ready).toMatchObject({ status: 503, body: { message: 'The erasures were not read yet' } })
    const users = { organization: gateway.config.id, project: 'shop', userIds: [idOf('ada')] }
    expect(await askAsOperator(unread, '/internal/erasures/known/read', users)).toEqual({ users: null })
  })
})

describe('calls of operators', () => {
  it('request erasures, lift suppressions, and need no key', async () => {
    const { gateway, idOf } = await givenErasingGateway(['ada'])
    const place = { organization: gateway.config.id, project: 'shop' }
    const userIds = [idOf('ada'), idOf('bob')]
    const erasureId = randomUUID()
    const request = () =>
      askAsOperator(gateway, '/internal/erasures/request', { ...place, userIds, suppress: true, erasureId })
    const answer = await request()
    expect(answer).toMatchObject({ outcome: 'requested', erasureId, users: 2, unknown: 1 })
    expect(await request()).toEqual(answer)
    const known = await askAsOperator(gateway, '/internal/erasures/known/read', {
      ...place,
      userIds: [idOf('ada'), idOf('eve')],
    })
    const keysUntil = new Date(Date.parse(Object(answer).requestedAt) + 60_000).toISOString()
    expect(known).toEqual({ users: [{ isSuppressed: true, keysUntil }, { isSuppressed: false }] })
    const lift = (userId: string) => askAsOperator(gateway, '/internal/suppressions/lift', { ...place, userId })
    expect(await lift(idOf('ada'))).toEqual({ outcome: 'lifted' })
    expect(await lift(idOf('eve'))).toEqual({ outcome: 'unknown' })
    expect((await factsOf(gateway)).map(({ type }) => type)).toEqual(['ErasureRequested', 'SuppressionLifted'])
  })
})
