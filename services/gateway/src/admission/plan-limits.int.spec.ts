import { describe, expect, it, onTestFinished, vi } from 'vitest'
import { givenGateway, givenService } from '../../test/given-gateway.ts'
import { givenMetering, givenRegistry, releasedIn, reservationsIn } from '../../test/given-services.ts'

const statusesOf = (answers: readonly { status: number }[]) => answers.map(({ status }) => status)
const count = (values: readonly unknown[], value: unknown) => values.filter((one) => one === value).length

describe('a plan’s limits (decisions.md, Track event: metering; Identify: MAU)', () => {
  it('admit exactly as many events as there is room for, and publish nothing of the rest', async () => {
    const metering = await givenMetering(7)
    const gateway = await givenGateway({ plan: { eventsPerMonth: 7 }, services: { metering: metering.url } })
    await gateway.identify({ userName: 'ada' })
    const answers = await Promise.all(
      Array.from({ length: 40 }, () => gateway.track({ userName: 'ada', eventName: 'a' })),
    )
    expect([count(statusesOf(answers), 202), count(statusesOf(answers), 402)]).toEqual([7, 33])
    expect(answers.find(({ status }) => status === 402)?.body).toEqual({
      status: 402,
      error: 'Payment Required',
      message: 'Event tracking limit reached for this organization',
    })
    expect((await gateway.records()).filter(({ fact }) => fact.type === 'EventTracked')).toHaveLength(7)
    expect(metering.calls.length).toBeLessThan(40)
  })

  it('cause no call to metering for an event with a test key, or of a plan without limits', async () => {
    const metering = await givenMetering(0)
    const limited = await givenGateway({ plan: { eventsPerMonth: 0 }, services: { metering: metering.url } })
    const unlimited = await givenGateway({ services: { metering: metering.url } })
    await limited.identify({ userName: 'ada' })
    await unlimited.identify({ userName: 'ada' })
    expect((await limited.track({ userName: 'ada', eventName: 'a' }, limited.keys.adminT)).status).toBe(202)
    expect((await unlimited.track({ userName: 'ada', eventName: 'a' })).status).toBe(202)
    expect(metering.calls).toEqual([])
  })

  it('have room again before the answer to an event that the cap on names refuses', async () => {
    const [metering, names] = [await givenMetering(1), await givenRegistry()]
    const services = { metering: metering.url, 'trait-registry': names.url }
    const gateway = await givenGateway({ plan: { eventsPerMonth: 1, uniqueEvents: 0 }, services })
    await gateway.identify({ userName: 'ada' })
    const answer = await gateway.track({ userName: 'ada', eventName: 'a' })
    expect(answer.status).toBe(400)
    // At once, so that the caller's next request finds the room again.
    expect(releasedIn(metering.calls)).toEqual([answer.headers['x-request-id']])
  })

  it('are checked in this order: user, disabled, metering, cap', async () => {
    const projector = await givenService({
      lookUpUsers: async ({ questions }) => ({ answers: questions.map(() => ({ existence: 'missing' })) }),
    })
    const [metering, names] = [await givenMetering(0), await givenRegistry()]
    const gateway = await givenGateway({
      plan: { eventsPerMonth: 0, uniqueEvents: 0 },
      project: { events: [{ slug: 'off', enabled: false }] },
      services: { 'user-projector': projector.url, metering: metering.url, 'trait-registry': names.url },
    })
    await gateway.identify({ userName: 'ada' })
    expect((await gateway.track({ userName: 'nobody', eventName: 'off' })).status).toBe(404)
    expect((await gateway.track({ userName: 'ada', eventName: 'off' })).status).toBe(400)
    expect(metering.calls).toEqual([])
    expect((await gateway.track({ userName: 'ada', eventName: 'new' })).status).toBe(402)
    expect(names.calls).toEqual([])
  })

  it('refuse users not yet counted once the MAU quota is used up, and admit counted ones', async () => {
    const metering = await givenMetering(2)
    const gateway = await givenGateway({ plan: { monthlyActiveUsers: 2 }, services: { metering: metering.url } })
    expect((await gateway.identify({ userName: 'a' })).status).toBe(200)
    expect((await gateway.visit({ userName: 'b' })).status).toBe(200)
    const refused = await gateway.identify({ userName: 'c' })
    expect(refused.body).toMatchObject({ status: 400, message: 'Monthly active users limit reached for your plan' })
    const asked = metering.calls.length
    expect((await gateway.identify({ userName: 'a' })).status).toBe(200)
    expect(metering.calls).toHaveLength(asked)
    expect(reservationsIn(metering.calls)[0]).toMatchObject({
      kind: 'mau',
      limit: 2,
      month: expect.stringMatching(/^\d{4}-\d\d$/),
    })
    expect(
      (await gateway.records()).some(({ fact }) => fact.type === 'IdentifyRequested' && fact.userName === 'c'),
    ).toBe(false)
  })

  it('admit a user whom metering already counts, and need no further call', async () => {
    const metering = await givenService({
      reserve: async ({ questions }) => ({ answers: questions.map(() => 'counted') }),
    })
    const gateway = await givenGateway({ plan: { monthlyActiveUsers: 0 }, services: { metering: metering.url } })
    expect((await gateway.identify({ userName: 'a' })).status).toBe(200)
  })

  it('are checked again for a user whose counted record may be a duplicate of the previous month (decisions.md, Retries)', async () => {
    const metering = await givenService({
      reserve: async ({ questions }) => ({ answers: questions.map(() => 'counted') }),
    })
    const gateway = await givenGateway({ plan: { monthlyActiveUsers: 9 }, services: { metering: metering.url } })
    const identifyAt = (instant: string, headers: Record<string, string> = {}) => {
      vi.setSystemTime(instant)
      const all = { 'content-type': 'application/json', 'x-api-key': gateway.keys.admin, ...headers }
      return gateway.call('POST', '/v2/admin/identify-user', all, JSON.stringify({ userName: 'ada' }))
    }
    vi.useFakeTimers({ toFake: ['Date'] })
    onTestFinished(() => void vi.useRealTimers())
    const answers = [
      await identifyAt('2025-12-01T23:59:59.999Z', { 'idempotency-key': 'one' }),
      await identifyAt('2025-12-02T00:00:00.000Z', { 'idempotency-key': 'two' }),
      await identifyAt('2025-12-02T00:00:01.000Z'),
    ]
    expect(statusesOf(answers)).toEqual([200, 200, 200])
    // The second can only be a duplicate of a record of December.
    expect(reservationsIn(metering.calls).map(({ month }) => month)).toEqual(['2025-12', '2025-12'])
  })
})
