import { setTimeout as sleep } from 'node:timers/promises'
import { MAX_CLAIMED_NAMES, type UserQuery } from '@nextvisit/contracts'
import { BEHIND } from '@nextvisit/service-kit'
import { until } from '@nextvisit/testing'
import { describe, expect, it } from 'vitest'
import { givenGateway, givenService } from '../../test/given-gateway.ts'
import { claimsIn } from '../../test/given-services.ts'
import { givenTenants } from '../../test/given-tenants.ts'

const TRACK = '/v2/admin/track-event'
const IDENTIFY = '/v2/admin/identify-user'
const statusesOf = (answers: readonly { status: number }[]) => new Set(answers.map(({ status }) => status))

/** Returns an identify with new traits. */
const manyTraits = (prefix: string) => ({
  userName: 'ada',
  userAttributes: { $set: Object.fromEntries(Array.from({ length: 50 }, (_, index) => [`${prefix}-${index}`, 1])) },
})

describe('the flood of one tenant (decisions.md, Busy and broken)', () => {
  it.each([
    ['one project', 1],
    ['many projects', 40],
  ])(
    'of %s makes no request unchecked, neither of others nor of its own: its excess is refused',
    async (_name, projects) => {
      // A slow registry that answers each call within a quarter of its time: ten milliseconds a name.
      const registry = await givenService({
        claim: async ({ questions }) => {
          await sleep(10 * questions.reduce((names, { slugs }) => names + slugs.length, 0))
          return { answers: questions.map(({ slugs }) => slugs.map(() => 'registered')) }
        },
      })
      const { gateway, loud, quiet } = await givenTenants({ 'trait-registry': registry.url }, { projects })
      const flood = Promise.all(
        Array.from({ length: 40 }, (_, index) =>
          gateway.post(IDENTIFY, manyTraits(`loud-${index}`), loud[index % projects]!),
        ),
      )
      const heard = []
      await until(() => registry.calls.length > 0)
      await gateway.post(IDENTIFY, { userName: 'ada' }, quiet)
      for (let index = 0; index < 10; index += 1)
        heard.push(await gateway.post(TRACK, { userName: 'ada', eventName: `quiet ${index}` }, quiet))
      expect(statusesOf(heard)).toEqual(new Set([202]))
      expect(statusesOf(await flood)).toEqual(new Set([200, 503]))
      expect(await gateway.unchecked()).toEqual({})
      for (const call of registry.calls)
        expect(claimsIn([call]).flatMap(({ slugs }) => slugs).length).toBeLessThanOrEqual(MAX_CLAIMED_NAMES)
    },
  )
})

describe('metering that was just started (decisions.md, Busy and broken)', () => {
  it('checks every event of a flood, or the gateway refuses it: calls begin small', async () => {
    // A cold process with cold plans: a hundredth of the time for admission a question, until it has answered fifty.
    let answered = 0
    const services = await givenService({
      reserve: async ({ questions }) => {
        if (answered < 50) await sleep(100 * questions.length)
        answered += questions.length
        return { answers: questions.map(() => 'granted') }
      },
      lease: async ({ questions }) => ({ answers: questions.map(() => false) }),
      claim: async ({ questions }) => ({ answers: questions.map(({ slugs }) => slugs.map(() => 'registered')) }),
    })
    const gateway = await givenGateway({
      plan: { eventsPerMonth: 1_000_000 },
      services: { metering: services.url, 'trait-registry': services.url },
    })
    await gateway.identify({ userName: 'ada' })
    const items = Array.from({ length: 600 }, () => ({ type: 'track', userName: 'ada', eventName: 'a' }))
    expect((await gateway.post('/v2/admin/batch', { items })).status).toBe(200)
    expect(await gateway.unchecked()).toEqual({})
    expect((await gateway.records()).length).toBeGreaterThan(1)
  })
})

describe('a silent user projector', () => {
  it('takes no time from the other checks: the record names only its own as missing', async () => {
    const silent = await givenService({ lookUpUsers: () => new Promise<never>(() => undefined) })
    const services = await givenService({
      reserve: async ({ questions }) => ({ answers: questions.map(() => 'granted') }),
      claim: async ({ questions }) => ({ answers: questions.map(({ slugs }) => slugs.map(() => 'registered')) }),
    })
    const gateway = await givenGateway({
      plan: { eventsPerMonth: 1 },
      services: { 'user-projector': silent.url, metering: services.url, 'trait-registry': services.url },
    })
    expect((await gateway.track({ userName: 'ada', eventName: 'a' })).status).toBe(202)
    expect((await gateway.records()).map(({ fact }) => 'unchecked' in fact && fact.unchecked)).toEqual([['user']])
  })
})

describe('a lagging partition (design.md, User markers)', () => {
  it('makes only its own users unchecked, and opens no breaker', async () => {
    const projector = await givenService({
      lookUpUsers: async ({ questions }) => {
        const isBehind = questions.some(({ partition }) => partition === 0)
        if (isBehind) await sleep(400)
        return { answers: questions.map(({ partition }) => ({ existence: partition === 0 ? 'unknown' : 'missing' })) }
      },
    })
    const gateway = await givenGateway({ services: { 'user-projector': projector.url } })
    const track = (index: number) => gateway.track({ userName: `user ${index}`, eventName: 'a' })
    const answers = await Promise.all(Array.from({ length: 60 }, (_, index) => track(index)))
    expect(statusesOf(answers)).toEqual(new Set([202, 404]))
    const records = await gateway.records()
    expect(records.length).toBeGreaterThan(0)
    expect(records.filter(({ partition }) => partition !== 0)).toEqual([])
    expect(await gateway.breakers()).toMatchObject({ 'user-projector': 0 })
  })
})

describe('slow reads', () => {
  it('have a breaker of their own, so that admission continues', async () => {
    const projector = await givenService({
      readUser: () => Promise.reject(new Error('too slow')),
      lookUpUsers: async ({ questions }) => ({ answers: questions.map(() => ({ existence: 'missing' })) }),
    })
    const evaluator = await givenService({ readQueue: async () => ({ waiting: [] }) })
    const services = { 'user-projector': projector.url, 'form-trigger-evaluator': evaluator.url }
    const gateway = await givenGateway({ services })
    for (let read = 0; read < 6; read += 1) expect((await gateway.get('/v2/admin/users/ada')).status).toBe(503)
    expect(await gateway.breakers()).toMatchObject({ 'user-projector (reads)': 1, 'user-projector': 0 })
    expect((await gateway.track({ userName: 'nobody', eventName: 'a' })).status).toBe(404)
  })
})

describe('a halted partition (decisions.md, Busy and broken)', () => {
  it('does not affect reads of other users: rows behind the log are not a failure of the service', async () => {
    const halted = new Set<string>()
    const read = async <Answer extends object>({ userId }: UserQuery, answer: Answer) => {
      // The first question.
      if (halted.size === 0) halted.add(userId)
      return halted.has(userId) ? BEHIND : answer
    }
    const at = '2026-11-02T10:00:00.000Z'
    const user = { userName: 'ada', traits: {}, country: null, device: {}, firstSeenAt: at, lastSeenAt: at, events: {} }
    const projector = await givenService({
      readUser: (query) => read(query, { ...user, userId: query.userId, segments: [] }),
    })
    const evaluator = await givenService({
      readQueue: async () => ({ waiting: [] }),
      readForms: (query) => read(query, { forms: [], queue: [] }),
    })
    const services = { 'user-projector': projector.url, 'form-trigger-evaluator': evaluator.url }
    const gateway = await givenGateway({ services })
    for (let time = 0; time < 10; time += 1) {
      expect((await gateway.get('/v2/admin/users/halted')).status).toBe(503)
      expect((await gateway.get('/v2/admin/users/halted/forms')).status).toBe(503)
    }
    expect((await gateway.get('/v2/admin/users/ada')).status).toBe(200)
    expect((await gateway.get('/v2/admin/users/ada/forms')).status).toBe(200)
  })
})

describe('an identified user (decisions.md, Identify)', () => {
  it('is found at once on every gateway, even if the marker is lost and the user was missing just before', async () => {
    let isFolded = false
    const projector = await givenService({
      lookUpUsers: async ({ questions }) => ({
        answers: questions.map(() => ({ existence: isFolded ? 'exists' : 'missing' })),
      }),
    })
    const services = { 'user-projector': projector.url }
    const gateway = await givenGateway({ services })
    const withoutRedis = await givenGateway({ besides: gateway, services, redisUrl: 'redis://127.0.0.1:1' })
    const track = () => gateway.track({ userName: 'ada', eventName: 'a' })
    expect((await track()).status).toBe(404)
    expect((await withoutRedis.identify({ userName: 'ada' })).status).toBe(200)
    isFolded = true
    expect((await track()).status).toBe(202)
  })
})
