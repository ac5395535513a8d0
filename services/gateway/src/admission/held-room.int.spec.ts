import { type Claim, DONE, type Reservation } from '@nextvisit/contracts'
import { describe, expect, it } from 'vitest'
import type { Reply } from '../../test/call-over.ts'
import type { GatewayFixture, GatewayFixtureOptions } from '../../test/gateway-fixture.ts'
import { givenGateway, givenService } from '../../test/given-gateway.ts'
import { releasedIn, reservationsIn } from '../../test/given-services.ts'
import { REQUEST_BUDGET_MS } from '../http/request-budget.ts'

const LIMIT_REACHED = 'Event tracking limit reached for this organization'
const CAP_REACHED = 'Unique tracked events limit reached for your plan'

async function gatewayWith(options: GatewayFixtureOptions): Promise<GatewayFixture> {
  const gateway = await givenGateway(options)
  await gateway.identify({ userName: 'ada' })
  return gateway
}

/** Starts a metering that holds reserved room until it is given back or, after `countsAfter` calls, counted. */
function meteringWith(room: number, countsAfter = Number.POSITIVE_INFINITY) {
  const pending = new Set<string>()
  let [count, calls] = [0, 0]
  const grant = ({ recordId, dryRun }: Reservation) => {
    if (count + pending.size < room) {
      if (!dryRun) pending.add(recordId)
      return dryRun ? 'room' : 'granted'
    }
    return count < room ? 'held' : 'no-room'
  }
  return givenService({
    reserve: async ({ questions }) => {
      calls += 1
      if (calls > countsAfter) {
        count += pending.size
        pending.clear()
      }
      return { answers: questions.map(grant) }
    },
    release: async ({ questions }) => {
      for (const { recordId } of questions) pending.delete(recordId)
      return { answers: questions.map(() => DONE) }
    },
  })
}

/** A registry without room that knows these names. */
function fullRegistry(...known: readonly string[]) {
  const verdictsOf = ({ slugs }: Claim) => slugs.map((slug) => (known.includes(slug) ? 'registered' : 'no-room'))
  return givenService({
    claim: async ({ questions }) => ({ answers: questions.map(verdictsOf) }),
  })
}

const track = (gateway: GatewayFixture, eventName: string) => gateway.track({ userName: 'ada', eventName })
const messagesOf = (answers: readonly Reply[]) => answers.map(({ body }) => body['message'])
const count = (values: readonly unknown[], value: unknown) => values.filter((one) => one === value).length
const recordedEvents = async (gateway: GatewayFixture) =>
  (await gateway.records()).flatMap(({ fact }) => (fact.type === 'EventTracked' ? fact : []))

describe('an event limit whose room is held for the moment (design.md, Metering)', () => {
  it('is asked again until the records that hold it count; then it is used up', async () => {
    const metering = await meteringWith(3, 3)
    const registry = await fullRegistry('a')
    const services = { metering: metering.url, 'trait-registry': registry.url }
    const gateway = await gatewayWith({ plan: { eventsPerMonth: 3 }, services })
    const answers = await Promise.all(Array.from({ length: 20 }, () => track(gateway, 'a')))
    expect([count(messagesOf(answers), 'Event recorded.'), count(messagesOf(answers), LIMIT_REACHED)]).toEqual([3, 17])
    expect(await recordedEvents(gateway)).toHaveLength(3)
  })

  it('is not taken by events that the cap refuses', async () => {
    const [metering, registry] = [await meteringWith(1), await fullRegistry('known')]
    const services = { metering: metering.url, 'trait-registry': registry.url }
    const gateway = await gatewayWith({ plan: { eventsPerMonth: 1, uniqueEvents: 1 }, services })
    const others = Promise.all(Array.from({ length: 8 }, (_, index) => track(gateway, `new ${index}`)))
    await expect.poll(async () => (await track(gateway, 'known')).status, { timeout: 30_000 }).toBe(202)
    for (const message of messagesOf(await others)) expect([CAP_REACHED, LIMIT_REACHED]).toContain(message)
    const looks = () => reservationsIn(metering.calls).filter(({ dryRun }) => dryRun)
    // All room is held from here on. A request that waits in vain has only dry runs since it knew about the cap.
    const looksAfterOneMore = async () => {
      expect((await track(gateway, 'one more')).body['message']).toBe(LIMIT_REACHED)
      return looks().length
    }
    await expect.poll(looksAfterOneMore, { timeout: 20_000 }).toBeGreaterThan(0)
    expect(await recordedEvents(gateway)).toMatchObject([{ slug: 'known' }])
  })

  it('is used up by earlier answers, even for events that the cap would refuse: 402 comes before 400', async () => {
    const [metering, registry] = [await meteringWith(1, 4), await fullRegistry('known')]
    const services = { metering: metering.url, 'trait-registry': registry.url }
    const gateway = await gatewayWith({ plan: { eventsPerMonth: 1, uniqueEvents: 1 }, services })
    expect((await track(gateway, 'known')).status).toBe(202)
    expect((await track(gateway, 'new')).body).toMatchObject({ status: 402, message: LIMIT_REACHED })
  })

  it('counts as used up for a request whose time is over, which is refused, neither unchecked nor busy', async () => {
    const metering = await meteringWith(1)
    const registry = await fullRegistry('a')
    const services = { metering: metering.url, 'trait-registry': registry.url }
    const requestBudgetMs = REQUEST_BUDGET_MS
    const gateway = await gatewayWith({ requestBudgetMs, plan: { eventsPerMonth: 1 }, services })
    expect((await track(gateway, 'a')).status).toBe(202)
    const answers = await Promise.all(Array.from({ length: 5 }, () => track(gateway, 'a')))
    expect(count(messagesOf(answers), LIMIT_REACHED)).toBe(5)
    expect(await recordedEvents(gateway)).toMatchObject([{ unchecked: [] }])
  })

  it('counts as used up if metering fails meanwhile, and a possible grant is given back', async () => {
    let calls = 0
    const metering = await givenService({
      reserve: async ({ questions }) => {
        calls += 1
        if (calls > 1) await new Promise((resolve) => setTimeout(resolve, 1_500))
        return { answers: questions.map(() => (calls > 1 ? 'granted' : 'held')) }
      },
      release: async ({ questions }) => ({ answers: questions.map(() => DONE) }),
    })
    const gateway = await gatewayWith({
      requestBudgetMs: REQUEST_BUDGET_MS,
      plan: { eventsPerMonth: 1 },
      services: { metering: metering.url },
    })
    const answer = await track(gateway, 'a')
    expect(answer.body).toMatchObject({ status: 402, message: LIMIT_REACHED })
    await expect.poll(() => releasedIn(metering.calls), { timeout: 10_000 }).toEqual([answer.headers['x-request-id']])
    expect(await recordedEvents(gateway)).toEqual([])
  })
})
