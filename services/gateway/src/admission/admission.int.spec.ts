import { describe, expect, it } from 'vitest'
import { givenGateway, givenService } from '../../test/given-gateway.ts'
import { REQUEST_BUDGET_MS } from '../http/request-budget.ts'

const everybodyExists = () =>
  givenService({ lookUpUsers: async ({ questions }) => ({ answers: questions.map(() => ({ existence: 'exists' })) }) })
const never = () => new Promise<never>(() => undefined)
const statusesOf = (answers: readonly { status: number }[]) => answers.map(({ status }) => status)
const count = (values: readonly unknown[], value: unknown) => values.filter((one) => one === value).length

describe('the check that a user exists (decisions.md, Track event: 404)', () => {
  it('asks the user projector for a user without a marker, and refuses unknown ones', async () => {
    const projector = await givenService({
      lookUpUsers: async ({ questions }) => ({ answers: questions.map(() => ({ existence: 'missing' })) }),
    })
    const gateway = await givenGateway({ services: { 'user-projector': projector.url } })
    const answer = await gateway.track({ userName: 'nobody', eventName: 'a' })
    expect(answer.body).toEqual({ status: 404, error: 'Not Found', message: 'User not found' })
    expect(await gateway.records()).toEqual([])
  })

  it('shares one answer among waiting questions', async () => {
    const projector = await givenService({
      lookUpUsers: async ({ questions }) => ({ answers: questions.map(() => ({ existence: 'missing' })) }),
    })
    const gateway = await givenGateway({ services: { 'user-projector': projector.url } })
    const track = () => gateway.track({ userName: 'nobody', eventName: 'a' })
    const answers = await Promise.all(Array.from({ length: 50 }, track))
    expect(count(statusesOf(answers), 404)).toBe(50)
    expect(projector.calls.length).toBeLessThan(50)
    for (const { question } of projector.calls) expect(question).toMatchObject({ questions: [{ project: 'shop' }] })
  })

  it('sees an identify on another gateway at once', async () => {
    const projector = await givenService({
      lookUpUsers: async ({ questions }) => ({ answers: questions.map(() => ({ existence: 'missing' })) }),
    })
    const gateway = await givenGateway({ services: { 'user-projector': projector.url } })
    const other = await givenGateway({ besides: gateway })
    expect((await gateway.track({ userName: 'ada', eventName: 'a' })).status).toBe(404)
    expect((await other.identify({ userName: 'ada' })).status).toBe(200)
    expect((await gateway.track({ userName: 'ada', eventName: 'a' })).status).toBe(202)
  })

  it('finds users through the projector after Redis was emptied', async () => {
    const projector = await everybodyExists()
    const gateway = await givenGateway({ services: { 'user-projector': projector.url } })
    await gateway.identify({ userName: 'ada' })
    const keys = await gateway.redis.keys(`${gateway.redisPrefix}*`)
    await gateway.redis.del(...keys)
    const other = await givenGateway({ besides: gateway, services: { 'user-projector': projector.url } })
    expect((await other.track({ userName: 'ada', eventName: 'a' })).status).toBe(202)
    expect(projector.calls).toHaveLength(1)
  })

  it('makes no call for a known user', async () => {
    const projector = await everybodyExists()
    const gateway = await givenGateway({ services: { 'user-projector': projector.url } })
    await gateway.identify({ userName: 'ada' })
    for (let i = 0; i < 5; i += 1) await gateway.track({ userName: 'ada', eventName: 'a' })
    expect(projector.calls).toEqual([])
  })
})

describe('an unavailable service (decisions.md, Busy and broken: unchecked)', () => {
  it('is not awaited beyond the budget, and the record names the missing checks', async () => {
    const silent = await givenService({ lookUpUsers: never, reserve: never, claim: never })
    const gateway = await givenGateway({
      requestBudgetMs: REQUEST_BUDGET_MS,
      plan: { eventsPerMonth: 1, monthlyActiveUsers: 1, uniqueEvents: 1 },
      services: { 'user-projector': silent.url, metering: silent.url, 'trait-registry': silent.url },
    })
    const tracked = await gateway.track({ userName: 'ada', eventName: 'a' })
    const identified = await gateway.identify({ userName: 'ada', userAttributes: { $set: { plan: 1 } } })
    expect(statusesOf([tracked, identified])).toEqual([202, 200])
    expect(tracked.body).toMatchObject({ newEvent: false })
    const facts = (await gateway.records()).map(({ fact }) => fact)
    const factOf = (id: unknown) => facts.find((fact) => fact.id === id)
    expect(factOf(tracked.body['requestId'])).toMatchObject({ unchecked: ['user', 'event-limit', 'event-name'] })
    expect(factOf(identified.headers['x-request-id'])).toMatchObject({ unchecked: ['mau', 'traits'] })
    expect(await gateway.unchecked()).toEqual({ user: 1, 'event-limit': 1, 'event-name': 1, mau: 1, traits: 1 })
  })

  it('is not taken for a busy one if it stops right after an answer, even with a small budget', async () => {
    let asked = 0
    const metering = await givenService({
      reserve: ({ questions }) =>
        (asked += 1) > 1 ? never() : Promise.resolve({ answers: questions.map(() => 'granted') }),
    })
    const gateway = await givenGateway({
      requestBudgetMs: 1_600,
      plan: { eventsPerMonth: 10 },
      services: { metering: metering.url },
    })
    await gateway.identify({ userName: 'ada' })
    const track = () => gateway.track({ userName: 'ada', eventName: 'a' })
    expect(statusesOf([await track(), await track()])).toEqual([202, 202])
    expect(await gateway.unchecked()).toMatchObject({ 'event-limit': 1 })
  })

  it('is rarely asked once it has failed a few times', async () => {
    let asked = 0
    const broken = await givenService({
      reserve: async () => {
        asked += 1
        throw new Error('broken')
      },
    })
    const gateway = await givenGateway({ plan: { eventsPerMonth: 1 }, services: { metering: broken.url } })
    await gateway.identify({ userName: 'ada' })
    for (let i = 0; i < 30; i += 1) expect((await gateway.track({ userName: 'ada', eventName: 'a' })).status).toBe(202)
    expect(asked).toBeLessThan(30)
  })

  it('counts as such if it answers one question too few', async () => {
    const metering = await givenService({ reserve: async () => ({ answers: [] }) })
    const gateway = await givenGateway({ plan: { eventsPerMonth: 1 }, services: { metering: metering.url } })
    await gateway.identify({ userName: 'ada' })
    const answer = await gateway.track({ userName: 'ada', eventName: 'a' })
    const record = (await gateway.records()).find(({ fact }) => fact.id === answer.body['requestId'])
    expect(record?.fact).toMatchObject({ unchecked: expect.arrayContaining(['event-limit']) })
  })
})
