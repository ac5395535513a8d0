import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type GatewayFixture, startGateway } from '../../test/gateway-fixture.ts'

/** Words of a person. Each is in one kind of value, and no slug or event name has it. */
const CANARIES = ['canary name', 'canary-trait', 'canary-device', 'canary-property'] as const
const [userName, trait, device, property] = CANARIES
const traits = { $set: { plan: trait }, $setOnce: { origin: [trait] }, $increment: { visits: 1 } }

/** A request of each route that records values of a person. */
const REQUESTS: readonly (readonly [route: string, body: object, key: 'admin' | 'sdk'])[] = [
  ['/v2/admin/identify-user', { userName, userAttributes: traits, $deviceInfo: { $browser: device } }, 'admin'],
  ['/v2/admin/track-event', { userName, eventName: 'Paid', properties: { coupon: property } }, 'admin'],
  ['/v2/sdk/identify-user', { userName, userAttributes: traits, $deviceInfo: { $browser: device } }, 'sdk'],
  ['/v2/sdk/track-event', { userName, eventName: 'Paid', properties: { coupon: property } }, 'sdk'],
  [
    '/v2/admin/batch',
    {
      items: [
        { type: 'identify', userName: `${userName} 2`, userAttributes: traits },
        { type: 'track', userName: `${userName} 2`, eventName: 'Paid', properties: { nested: { coupon: [property] } } },
      ],
    },
    'admin',
  ],
  ['/v1/identify', { userId: `${userName} 3`, traits: { plan: trait } }, 'admin'],
  ['/v1/track', { userId: `${userName} 3`, event: 'Paid', properties: { coupon: property } }, 'admin'],
]

describe('records of a gateway (decision 18, Records, version 2)', () => {
  let gateway: GatewayFixture
  const statuses: number[] = []
  beforeAll(async () => {
    gateway = await startGateway()
    for (const [route, body, key] of REQUESTS)
      statuses.push((await gateway.post(route, body, gateway.keys[key])).status)
  })
  afterAll(() => gateway.stop())

  it('contain no name, trait value, device fact or property in clear, whatever the route', async () => {
    expect(statuses.filter((status) => status >= 300)).toEqual([])
    const records = await gateway.records()
    expect(records.length).toBeGreaterThanOrEqual(REQUESTS.length)
    for (const { text, key, headers } of records) {
      const bytes = [text, key, JSON.stringify(headers)].join()
      for (const canary of CANARIES) expect(bytes).not.toContain(canary)
      expect(bytes).not.toMatch(/canary/i)
    }
  })

  it('contain each of these words once they are opened', async () => {
    const facts = JSON.stringify((await gateway.records()).map(({ fact }) => fact))
    for (const canary of CANARIES) expect(facts).toContain(canary)
  })

  it('have their slugs and event names in clear, which services without keys count', async () => {
    const texts = (await gateway.records()).map(({ text }) => JSON.parse(text) as Record<string, unknown>)
    const identifies = texts.filter(({ type }) => type === 'IdentifyRequested')
    const sealed = { key: expect.any(String), bytes: expect.any(String) }
    expect(identifies).toContainEqual(
      expect.objectContaining({ traits: ['plan', 'origin', 'visits'], source: 'admin', sealed }),
    )
    expect(identifies.flatMap(Object.keys)).not.toContain('operations')
    const events = texts.filter(({ type }) => type === 'EventTracked')
    expect(events).not.toEqual([])
    for (const event of events) expect(event).toMatchObject({ eventName: 'Paid', slug: 'paid', sealed })
  })
})
