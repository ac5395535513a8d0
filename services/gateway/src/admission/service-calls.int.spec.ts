import { describe, expect, it } from 'vitest'
import type { GatewayFixture, GatewayFixtureOptions } from '../../test/gateway-fixture.ts'
import { givenGateway, givenService } from '../../test/given-gateway.ts'

/** A gateway whose services know every name and grant every reservation, but no lease. */
async function gatewayWith(plan: GatewayFixtureOptions['plan']): Promise<GatewayFixture> {
  const metering = await givenService({
    reserve: async ({ questions }) => ({ answers: questions.map(() => 'granted') }),
    lease: async ({ questions }) => ({ answers: questions.map(() => false) }),
  })
  const traitRegistry = await givenService({
    claim: async ({ questions }) => ({ answers: questions.map(({ slugs }) => slugs.map(() => 'registered')) }),
  })
  return givenGateway({
    ...(plan && { plan }),
    services: { metering: metering.url, 'trait-registry': traitRegistry.url },
  })
}

/** Calls each of the four ingestion routes once, always with the same user, trait and event. */
async function askEverything({ identify, track, visit, post, keys }: GatewayFixture): Promise<number[]> {
  const user = { userName: 'ada', userAttributes: { $set: { plan: 'pro' } } }
  const event = { userName: 'ada', eventName: 'Signed In' }
  const answers = [
    await identify(user),
    await track(event),
    await visit(user),
    await post('/v2/sdk/track-event', event, keys.sdk),
  ]
  return answers.map(({ status }) => status)
}

describe('the cost of admission (design.md, Calls to services)', () => {
  it('is no call for a known user and known names without limits', async () => {
    const gateway = await gatewayWith(undefined)
    expect(await askEverything(gateway)).toEqual([200, 202, 200, 202])
    // The trait and the event need one call each; then they are known.
    expect(await gateway.serviceCalls()).toEqual({ 'trait-registry claim': 2 })
    for (let round = 0; round < 5; round += 1) expect(await askEverything(gateway)).toEqual([200, 202, 200, 202])
    expect(await gateway.serviceCalls()).toEqual({ 'trait-registry claim': 2 })
    expect(await gateway.records()).toHaveLength(24)
  })

  it('is one call for an event under a limit, and one for a user and month under a quota', async () => {
    const gateway = await gatewayWith({
      eventsPerMonth: 1_000,
      monthlyActiveUsers: 1_000,
      uniqueEvents: 9,
      uniqueTraits: 9,
    })
    for (let round = 0; round < 5; round += 1) expect(await askEverything(gateway)).toEqual([200, 202, 200, 202])
    // On a fast machine these events are enough to ask for a lease, too.
    const { 'metering lease': _leases, ...calls } = await gateway.serviceCalls()
    expect(calls).toEqual({ 'metering reserve': 11, 'trait-registry claim': 2 })
  })
})
