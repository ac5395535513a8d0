import { DONE, type EventTracked, type LeaseQuestion, type ReturnedUnits } from '@nextvisit/contracts'
import { describe, expect, it } from 'vitest'
import type { GatewayFixture, GatewayFixtureOptions } from '../../test/gateway-fixture.ts'
import { givenGateway, givenService } from '../../test/given-gateway.ts'
import { givenRegistry } from '../../test/given-services.ts'

/** Metering of an organization far from its limit: it grants everything and keeps the calls. */
async function givenGenerousMetering() {
  const leased: LeaseQuestion[] = []
  const returned: ReturnedUnits[] = []
  const reserved: string[] = []
  const { url } = await givenService({
    reserve: async ({ questions }) => {
      reserved.push(...questions.map(({ recordId }) => recordId))
      return { answers: questions.map(() => 'granted') }
    },
    lease: async ({ questions }) => {
      leased.push(...questions)
      return { answers: questions.map(() => true) }
    },
    returnLeased: async ({ questions }) => {
      returned.push(...questions.flat())
      return { answers: questions.map(() => DONE) }
    },
  })
  /** Units of each lease that are neither given back nor in the log; leases without such units are left out. */
  const unitsLeft = (events: readonly EventTracked[]) =>
    leased
      .flatMap(({ leases }) => leases)
      .map((one) => {
        const back = Math.max(0, ...returned.filter((own) => own.lease === one.lease).map(({ units }) => units))
        return one.units - back - events.filter((event) => event.lease === one.lease).length
      })
      .filter((units) => units !== 0)
  return { url, leased, reserved, unitsLeft }
}

async function givenBusyGateway(options: GatewayFixtureOptions): Promise<GatewayFixture> {
  const gateway = await givenGateway({ ...options, plan: { eventsPerMonth: 1_000_000, ...options.plan } })
  await gateway.identify({ userName: 'ada' })
  return gateway
}

const eventsOf = async (gateway: GatewayFixture) =>
  (await gateway.records()).flatMap(({ fact }) => (fact.type === 'EventTracked' ? [fact] : []))

/** Tracks many events at once until some needed no call of their own; returns the answers to all. */
async function trackUntilLeased(
  { reserved }: { readonly reserved: readonly string[] },
  track: () => Promise<{ readonly status: number }>,
) {
  const statuses: number[] = []
  while (reserved.length === statuses.length) {
    const answers = await Promise.all(Array.from({ length: 20 }, track))
    statuses.push(...answers.map(({ status }) => status))
  }
  return statuses
}

describe('events of a busy organization that is far from its limit (decision 0017)', () => {
  it('use a unit of a lease or a reservation each; their records tell which', async () => {
    const metering = await givenGenerousMetering()
    const gateway = await givenBusyGateway({ services: { metering: metering.url } })
    const statuses = await trackUntilLeased(metering, () => gateway.track({ userName: 'ada', eventName: 'a' }))
    expect(new Set(statuses)).toEqual(new Set([202]))
    const events = await eventsOf(gateway)
    expect(events).toHaveLength(statuses.length)
    const reserved = new Set(metering.reserved)
    expect(events.filter(({ id, lease: used }) => reserved.has(id) === (used !== undefined))).toEqual([])
    // In the end every unit is used or given back.
    await expect.poll(() => metering.unitsLeft(events), { timeout: 10_000 }).toEqual([])
  })

  it('give their unit back if the cap refuses them', async () => {
    const [metering, registry] = [await givenGenerousMetering(), await givenRegistry(['known'])]
    const services = { metering: metering.url, 'trait-registry': registry.url }
    const gateway = await givenBusyGateway({ services, plan: { uniqueEvents: 1 } })
    let sent = 0
    const statuses = await trackUntilLeased(metering, () => {
      sent += 1
      return gateway.track({ userName: 'ada', eventName: sent % 2 === 0 ? 'known' : `new ${sent}` })
    })
    expect(new Set(statuses)).toEqual(new Set([202, 400]))
    const events = await eventsOf(gateway)
    await expect.poll(() => metering.unitsLeft(events), { timeout: 10_000 }).toEqual([])
  })

  it('have their unused units given back when the gateway stops', async () => {
    const metering = await givenGenerousMetering()
    const gateway = await givenBusyGateway({ services: { metering: metering.url } })
    await trackUntilLeased(metering, () => gateway.track({ userName: 'ada', eventName: 'a' }))
    await gateway.gateway.stop()
    expect(metering.unitsLeft(await eventsOf(gateway))).toEqual([])
  })
})
