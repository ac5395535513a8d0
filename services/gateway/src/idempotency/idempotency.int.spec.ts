import { gzipSync } from 'node:zlib'
import { type Claim, type ClaimVerdict } from '@nextvisit/contracts'
import { createFaultProxy, produceApiKey } from '@nextvisit/testing'
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest'
import { type GatewayFixture, startGateway } from '../../test/gateway-fixture.ts'
import { startService } from '../../test/service-fixture.ts'
import { REQUEST_BUDGET_MS } from '../http/request-budget.ts'
import { type IdempotentRequest, idempotentRequestOf } from './idempotent-request.ts'
import { createKeptAnswers } from './kept-answers.ts'

const UUID_V5 = /^[0-9a-f]{8}-[0-9a-f]{4}-5[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/
const IDENTIFY = '/v2/admin/identify-user'
const TRACK = '/v2/admin/track-event'
const VISIT = '/v2/sdk/identify-user'
const SDK_TRACK = '/v2/sdk/track-event'

let gateway: GatewayFixture
let other: GatewayFixture
/** The users who exist, and a gate that look-ups wait for. */
const users = { exist: true, gate: Promise.resolve() }
/** The record that registered a name: the registry repeats its answer to that record. */
const registeredBy = new Map<string, string>()
let service: Awaited<ReturnType<typeof startService>>

beforeAll(async () => {
  service = await startService({
    claim: async ({ questions }) => ({ answers: questions.map(verdictsOn) }),
    lookUpUsers: async ({ questions }) => {
      await users.gate
      return { answers: questions.map(() => ({ existence: users.exist ? 'exists' : 'missing' })) }
    },
  })
  const services = { 'user-projector': service.url, 'trait-registry': service.url }
  gateway = await startGateway({ services })
  other = await startGateway({ besides: gateway, services })
  await gateway.identify({ userName: 'ada' })
})
afterAll(async () => {
  await other?.stop()
  await gateway?.stop()
  await service?.stop()
})

function verdictsOn({ recordId, slugs }: Claim): ClaimVerdict[] {
  return slugs.map((slug) => {
    const first = registeredBy.get(slug) ?? recordId
    registeredBy.set(slug, first)
    return first === recordId ? 'new' : 'registered'
  })
}

let keys = 0
const newKey = () => `key-${(keys += 1)}`

interface Sent {
  readonly path?: string
  readonly body?: object | string
  readonly key: string
  readonly apiKey?: string
  readonly through?: GatewayFixture
}

function send({ path = TRACK, body = { userName: 'ada', eventName: 'a' }, key, apiKey, through = gateway }: Sent) {
  const ofRoute = path.startsWith('/v2/sdk/') ? gateway.keys.sdk : gateway.keys.admin
  const headers = { 'content-type': 'application/json', 'x-api-key': apiKey ?? ofRoute, 'idempotency-key': key }
  return through.call('POST', path, headers, typeof body === 'string' ? body : JSON.stringify(body))
}

async function recordsOf(id: string | string[] | undefined) {
  return (await gateway.records()).flatMap(({ fact }) => (fact.id === id ? fact : []))
}

describe('a repeat under the same Idempotency-Key (decisions.md, Retries)', () => {
  it.each([
    [IDENTIFY, { userName: 'ada', userAttributes: { $increment: { visits: 1 } } }],
    [TRACK, { userName: 'ada', eventName: 'Checkout Completed' }],
    [VISIT, { userName: 'ada' }],
    [SDK_TRACK, { userName: 'ada', eventName: 'Checkout Completed' }],
  ])('gets the first answer byte for byte, on any gateway, and makes no second record: %s', async (path, body) => {
    const key = newKey()
    const first = await send({ path, body, key })
    const repeats = [await send({ path, body, key }), await send({ path, body, key, through: other })]
    expect(first.status).toBeLessThan(300)
    expect(first.headers).not.toHaveProperty('idempotent-replayed')
    const requestId = first.headers['x-request-id']
    expect(requestId).toMatch(UUID_V5)
    for (const repeat of repeats) {
      expect([repeat.status, repeat.text]).toEqual([first.status, first.text])
      expect(repeat.headers).toMatchObject({ 'idempotent-replayed': 'true', 'x-request-id': requestId })
    }
    expect(await recordsOf(requestId)).toMatchObject([{ keyed: true }])
  })

  it('has the record’s id as requestId', async () => {
    const answer = await send({ key: newKey() })
    expect(answer.body['requestId']).toBe(answer.headers['x-request-id'])
  })

  it('is recognized by the inflated body', async () => {
    const key = newKey()
    const body = JSON.stringify({ userName: 'ada', eventName: 'zipped' })
    const first = await send({ key, body })
    const headers = {
      'content-type': 'application/json',
      'content-encoding': 'gzip',
      'x-api-key': gateway.keys.admin,
      'idempotency-key': key,
    }
    const repeat = await gateway.call('POST', TRACK, headers, gzipSync(body))
    expect(repeat.text).toBe(first.text)
    expect(repeat.headers['idempotent-replayed']).toBe('true')
  })

  it('gets 422 for another body, even if only a space differs, and for another route', async () => {
    const key = newKey()
    await send({ key, body: '{"userName":"ada","eventName":"a"}' })
    const refused = [
      await send({ key, body: '{"userName":"ada", "eventName":"a"}' }),
      await send({ key, path: IDENTIFY, body: '{"userName":"ada","eventName":"a"}' }),
    ]
    for (const { status, body } of refused) {
      expect(status).toBe(422)
      expect(body).toEqual({
        status: 422,
        error: 'Unprocessable Entity',
        message: expect.stringContaining('Idempotency-Key'),
      })
    }
  })

  it('of a visit may differ in all but its userName, if the visit allows it', async () => {
    const key = newKey()
    const visit = (userName: string, plan: string, repeatMayDiffer: unknown = true, ofKey = key) =>
      send({ key: ofKey, path: VISIT, body: { userName, userAttributes: { $set: { plan } }, repeatMayDiffer } })
    const [first, repeat] = [await visit('ada', 'pro'), await visit('ada', 'free')]
    expect([repeat.status, repeat.text, repeat.headers['idempotent-replayed']]).toEqual([200, first.text, 'true'])
    expect(await recordsOf(first.headers['x-request-id'])).toMatchObject([{ operations: { set: { plan: 'pro' } } }])
    expect((await visit('grace', 'pro')).status).toBe(422)
    for (const says of [false, 'true', null]) expect((await visit('ada', 'pro', says)).status).toBe(422)
    const strict = newKey()
    await visit('ada', 'pro', undefined, strict)
    expect((await visit('ada', 'free', false, strict)).status).toBe(422)
  })

  it('is another request with another kind of API key, and in another environment', async () => {
    const key = newKey()
    const answers = [await send({ key }), await send({ key, path: SDK_TRACK })]
    answers.push(await send({ key, apiKey: gateway.keys.adminT }))
    expect(answers.map(({ status, headers }) => [status, headers['idempotent-replayed']])).toEqual(
      answers.map(() => [202, undefined]),
    )
    expect(new Set(answers.map(({ headers }) => headers['x-request-id'])).size).toBe(3)
  })

  it('gets 409 while the first is running, on any gateway, and makes no second record', async () => {
    const key = newKey()
    const body = { userName: 'grace', eventName: 'a' }
    const { promise, resolve } = Promise.withResolvers<void>()
    users.gate = promise
    const sent = [send({ key, body }), send({ key, body, through: other })]
    const refused = await Promise.race(sent)
    resolve()
    expect(refused.status).toBe(409)
    expect(refused.body).toEqual({
      status: 409,
      error: 'Conflict',
      message: expect.stringContaining('Idempotency-Key'),
    })
    const answer = (await Promise.all(sent)).find(({ status }) => status === 202)
    expect((await send({ key, body, through: other })).text).toBe(answer?.text)
    expect(await recordsOf(answer?.headers['x-request-id'])).toHaveLength(1)
  })

  it('in parallel, often and on two gateways, makes one record', async () => {
    const key = newKey()
    const answers = await Promise.all(
      Array.from({ length: 20 }, (_, i) => send({ key, through: i % 2 === 0 ? gateway : other })),
    )
    const statuses = answers.map(({ status }) => status)
    expect(statuses).toContain(202)
    expect(statuses.filter((status) => status !== 202 && status !== 409)).toEqual([])
    expect(new Set(answers.flatMap(({ status, text }) => (status === 202 ? text : []))).size).toBe(1)
    expect(await recordsOf(answers[0]?.headers['x-request-id'])).toHaveLength(1)
  })

  it('of a refused request is a new request: the key is free for any body', async () => {
    const key = newKey()
    const body = { userName: 'nobody-yet', eventName: 'a' }
    users.exist = false
    expect((await send({ key, body })).status).toBe(404)
    users.exist = true
    expect((await send({ key, body: { ...body, userName: 'ada' } })).status).toBe(202)
    expect((await send({ key, body })).status).toBe(422)
  })
})

describe('an Idempotency-Key (decisions.md, Retries)', () => {
  it.each(['', 'a b', 'x'.repeat(256), 'caf\u00e9'])('400 naming the header: %j', async (key) => {
    const answer = await send({ key })
    expect(answer.status).toBe(400)
    expect(answer.body).toEqual({
      status: 400,
      error: 'Bad Request',
      message: 'Idempotency-Key must be 1 to 255 visible ASCII characters',
    })
  })

  it('is checked after the rules of the body and before policy (decisions.md, Order of checks)', async () => {
    expect((await send({ key: '', body: { userName: 'ada' } })).body['message']).toContain('eventName')
    users.exist = false
    expect((await send({ key: '', body: { userName: 'nobody-else', eventName: 'a' } })).status).toBe(400)
    users.exist = true
  })

  it('may have 255 characters', async () => {
    expect((await send({ key: 'x'.repeat(255) })).status).toBe(202)
  })
})

describe('a request without an Idempotency-Key', () => {
  it('keeps no answer, and its record is not keyed', async () => {
    const alone = await startGateway()
    const answer = await alone.identify({ userName: 'ada' })
    expect(await alone.redis.keys(`${alone.redisPrefix}answer:*`)).toEqual([])
    expect(await alone.records()).toMatchObject([{ fact: { id: answer.headers['x-request-id'], keyed: false } }])
    await alone.stop()
  })
})

describe('a failure (decisions.md, Retries)', () => {
  it('of Redis lets each repeat be answered and published, with one record id by which consumers drop duplicates', async () => {
    const without = await startGateway({ besides: gateway, redisUrl: 'redis://127.0.0.1:1' })
    const key = newKey()
    const answers = [await send({ key, through: without }), await send({ key, through: without })]
    await without.stop()
    expect(answers.map(({ status }) => status)).toEqual([202, 202])
    for (const { headers } of answers) expect(headers).not.toHaveProperty('idempotent-replayed')
    expect(answers[1]?.headers['x-request-id']).toBe(answers[0]?.headers['x-request-id'])
    const duplicates = await recordsOf(answers[0]?.headers['x-request-id'])
    expect(duplicates).toMatchObject([{ keyed: true }, { keyed: true }])
  })

  it('of a gateway between publish and answer lets the retry publish a duplicate of the same record', async () => {
    const key = newKey()
    const body = { userName: 'ada', eventName: 'a' }
    const project = { organization: gateway.config.id, project: 'shop' }
    const request = idempotentRequestOf(
      { entry: { kind: 'admin', environment: 'P' }, project },
      { key, route: TRACK, bytes: Buffer.from(JSON.stringify(body)) },
    ) as IdempotentRequest
    // Such a gateway leaves a lock without an end, and the record.
    await createKeptAnswers(gateway.redis, gateway.redisPrefix, REQUEST_BUDGET_MS).lock(request)
    const died = await startGateway({ besides: gateway, redisUrl: 'redis://127.0.0.1:1' })
    await send({ key, body, through: died })
    await died.stop()

    expect((await send({ key, body })).status).toBe(409)
    await gateway.redis.hset(`${gateway.redisPrefix}answer:${request.name}`, 'runs_until', 0)
    expect((await send({ key, body: { ...body, eventName: 'b' } })).status).toBe(422)
    const retried = await send({ key, body })
    expect(retried.status).toBe(202)
    expect(retried.headers['x-request-id']).toBe(request.recordId)
    expect((await send({ key, body, through: other })).text).toBe(retried.text)
    expect(await recordsOf(request.recordId)).toHaveLength(2)
  })

  it('of an answer gives the retry the same answer: a name that was new to the first is new to it', async () => {
    const key = newKey()
    const body = { userName: 'ada', eventName: 'brand new', occurredAt: new Date().toISOString() }
    const first = await send({ key, body })
    expect(first.body['newEvent']).toBe(true)
    // Simulates a gateway that died before it kept the answer.
    const kept = `${gateway.redisPrefix}answer:${gateway.config.id}/shop/admin/P/${key}`
    await gateway.redis.hdel(kept, 'answer')
    await gateway.redis.hset(kept, 'runs_until', 0)
    expect((await send({ key, body })).text).toBe(first.text)
    expect((await send({ key: newKey(), body })).body['newEvent']).toBe(false)
  })

  it('with an unknown outcome leaves the key to the same request only', async () => {
    const [host = '', port] = inject('kafkaBrokers').split(':')
    const proxy = createFaultProxy({ host, port: Number(port) })
    await proxy.start()
    const cutOff = await startGateway({
      besides: gateway,
      addressFor: proxy.addressFor,
      requestBudgetMs: REQUEST_BUDGET_MS,
    })
    const key = newKey()
    proxy.onResponse(({ apiKey }) => (apiKey === produceApiKey ? 'lose' : 'pass'))
    const unheard = await send({ key, through: cutOff })
    await cutOff.stop()
    await proxy.stop()
    expect(unheard.status).toBe(503)
    expect((await send({ key, body: { userName: 'ada', eventName: 'b' } })).status).toBe(422)
    const retried = await send({ key })
    expect(retried.status).toBe(202)
    expect(await recordsOf(retried.headers['x-request-id'])).toHaveLength(2)
  })
})
