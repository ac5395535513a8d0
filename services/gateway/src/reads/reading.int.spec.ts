import { randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { EventsPage, TraitsPage, UsageOverview, UserAnswer, UserFormsAnswer } from '@nextvisit/contracts'
import { userIdOf } from '@nextvisit/domain'
import { NOT_FOUND } from '@nextvisit/service-kit'
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { type GatewayFixture, startGateway } from '../../test/gateway-fixture.ts'
import { startService } from '../../test/service-fixture.ts'

const INSTANT = '2026-11-02T10:00:00.000Z'

describe('GET /v2/admin/users (decisions.md, Beyond the document)', () => {
  let gateway: GatewayFixture
  let service: Awaited<ReturnType<typeof startService>>
  const names = ['ada', 'a/b', 'ä ?&', '__proto__']
  beforeAll(async () => {
    service = await startService({
      readUser: async ({ organization, userId }) => {
        const userName = names.find((name) => userIdOf(organization, 'shop', name) === userId)
        if (userName === undefined) return NOT_FOUND
        const traits = JSON.parse('{"plan":"pro","__proto__":1}') as object
        const seen = { firstSeenAt: INSTANT, lastSeenAt: INSTANT }
        return { userId, userName, traits, country: 'DE', device: {}, ...seen, events: {}, segments: [] }
      },
      readQueue: async ({ userId }) => ({
        waiting: [
          {
            queuedId: userId,
            formId: 'nps',
            state: 'waiting',
            queuedAt: INSTANT,
            showFrom: INSTANT,
            expiresAt: null,
            priority: 0,
          },
        ],
      }),
    })
    gateway = await startGateway({ services: { 'user-projector': service.url, 'form-trigger-evaluator': service.url } })
  })
  afterAll(async () => {
    await gateway.stop()
    await service.stop()
  })

  it.each(names)('reads %s by path and by query', async (userName) => {
    const encoded = encodeURIComponent(userName)
    const byPath = await gateway.get(`/v2/admin/users/${encoded}`)
    const byQuery = await gateway.get(`/v2/admin/users?userName=${encoded}`)
    expect(byPath.status).toBe(200)
    expect(byPath.body).toMatchObject({ userName, country: 'DE', waitingForms: [{ formId: 'nps' }] })
    expect(byPath.text).toContain('"traits":{"plan":"pro","__proto__":1}')
    expect(UserAnswer.safeParse(byPath.body).success).toBe(true)
    expect(byQuery.text).toBe(byPath.text)
  })

  it('answers 404 for an unknown user, and 400 without a userName', async () => {
    expect((await gateway.get('/v2/admin/users/nobody')).body).toMatchObject({ status: 404, message: 'User not found' })
    expect((await gateway.get('/v2/admin/users')).status).toBe(400)
    expect((await gateway.get('/v2/admin/users?userName=%00')).status).toBe(400)
  })

  it('answers 503 with Retry-After while a service is unavailable', async () => {
    const alone = await startGateway({ services: { 'user-projector': service.url } })
    const answer = await alone.get('/v2/admin/users/ada')
    const usage = await alone.get('/v2/admin/usage')
    const traits = await alone.get('/v2/admin/traits?limit=1000')
    const wrong = await alone.get('/v2/admin/traits?limit=1001')
    await alone.stop()
    expect([answer.status, usage.status, traits.status, wrong.status]).toEqual([503, 503, 503, 400])
  })
})

it('a few reads of a key run at once, and all are answered (decisions.md, Busy and broken)', async () => {
  const calls = { now: 0, most: 0 }
  const service = await startService({
    readForms: async () => {
      calls.now += 1
      calls.most = Math.max(calls.most, calls.now)
      await sleep(20)
      calls.now -= 1
      return NOT_FOUND
    },
  })
  onTestFinished(service.stop)
  const gateway = await startGateway({ services: { 'form-trigger-evaluator': service.url } })
  onTestFinished(gateway.stop)
  const answers = await Promise.all(Array.from({ length: 40 }, () => gateway.get('/v2/admin/users/ada/forms')))
  expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([404]))
  // Three, and one more for each slow one on a busy machine.
  expect(calls.most).toBeLessThan(20)
})

describe('GET /v2/admin/users/{userName}/forms (decisions.md, Beyond the document)', () => {
  let gateway: GatewayFixture
  let service: Awaited<ReturnType<typeof startService>>
  const queued = { decision: 'queued' as const, at: INSTANT, requestId: randomUUID(), catalogRevision: 1, gates: [] }
  beforeAll(async () => {
    service = await startService({
      readForms: async ({ organization, userId }) =>
        userId === userIdOf(organization, 'shop', 'a/forms')
          ? { forms: [{ formId: 'nps', ...queued }], queue: [] }
          : NOT_FOUND,
    })
    gateway = await startGateway({ services: { 'form-trigger-evaluator': service.url } })
  })
  afterAll(async () => {
    await gateway.stop()
    await service.stop()
  })

  it('reads decisions and queue', async () => {
    const { status, body } = await gateway.get('/v2/admin/users/a%2Fforms/forms')
    expect(status).toBe(200)
    expect(UserFormsAnswer.parse(body)).toEqual({
      userId: expect.any(String),
      userName: 'a/forms',
      forms: [{ formId: 'nps', ...queued }],
      queue: [],
    })
  })

  it('answers 404 for an unknown user, 400 for an invalid userName, and 403 for a publishable key', async () => {
    const nobody = await gateway.get('/v2/admin/users/nobody/forms')
    expect(nobody.body).toMatchObject({ status: 404, message: 'User not found' })
    expect((await gateway.get('/v2/admin/users/%00/forms')).status).toBe(400)
    expect((await gateway.get('/v2/admin/users/a/forms', gateway.keys.sdk)).status).toBe(403)
  })

  it('answers 503 with Retry-After while the evaluator is unavailable', async () => {
    const alone = await startGateway({})
    const { status, headers } = await alone.get('/v2/admin/users/a/forms')
    await alone.stop()
    expect([status, headers['retry-after']]).toEqual([503, expect.any(String)])
  })
})

describe('GET /v2/admin/usage, traits and events (decisions.md, Beyond the document)', () => {
  let gateway: GatewayFixture
  let service: Awaited<ReturnType<typeof startService>>
  beforeAll(async () => {
    service = await startService({
      readUsage: async ({ month }) => ({
        month,
        events: 7,
        monthlyActiveUsers: 3,
        uniqueEvents: 2,
        uniqueTraits: 1,
      }),
      readDefinitions: async ({ kind, limit }) => ({
        definitions: [{ slug: `a_${kind}`, name: `A ${kind}`, firstSeenAt: INSTANT, lastSeenAt: INSTANT, count: 4 }],
        next: limit === 1 ? `a_${kind}` : null,
      }),
    })
    gateway = await startGateway({
      plan: { eventsPerMonth: 100, monthlyActiveUsers: 10 },
      services: { metering: service.url, 'trait-registry': service.url },
    })
  })
  afterAll(async () => {
    await gateway.stop()
    await service.stop()
  })

  it('returns counters and limits by the schema UsageOverview, `null` without a limit', async () => {
    const usage = UsageOverview.parse((await gateway.get('/v2/admin/usage')).body)
    expect(usage).toEqual({
      month: expect.any(String),
      events: { count: 7, limit: 100 },
      monthlyActiveUsers: { count: 3, limit: 10 },
      uniqueEvents: { count: 2, limit: null },
      uniqueTraits: { count: 1, limit: null },
    })
  })

  it('marks counters that may lack the latest records', async () => {
    const lagging = await startService({
      readUsage: async ({ month }) => ({
        month,
        events: 7,
        monthlyActiveUsers: 3,
        uniqueEvents: 2,
        uniqueTraits: 1,
        stale: true,
      }),
    })
    const beside = await startGateway({ services: { metering: lagging.url } })
    expect(UsageOverview.parse((await beside.get('/v2/admin/usage')).body)).toMatchObject({ stale: true })
    expect((await gateway.get('/v2/admin/usage')).body).not.toHaveProperty('stale')
    await beside.stop()
    await lagging.stop()
  })

  it('returns definitions in pages, by the schemas TraitsPage and EventsPage', async () => {
    const traits = TraitsPage.parse((await gateway.get('/v2/admin/traits')).body)
    const events = EventsPage.parse((await gateway.get('/v2/admin/events?limit=1&after=a')).body)
    expect([traits.traits[0]?.slug, traits.next]).toEqual(['a_trait', null])
    expect([events.events[0]?.slug, events.next]).toEqual(['a_event', 'a_event'])
    expect(service.calls.at(-1)?.question).toMatchObject({ kind: 'event', limit: 1, after: 'a' })
  })
})
