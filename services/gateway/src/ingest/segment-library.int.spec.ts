import { userIdOf } from '@nextvisit/domain'
import { Analytics } from '@segment/analytics-node'
import { expect, it } from 'vitest'
import { givenGateway } from '../../test/given-gateway.ts'

it('messages that Segment’s own library reports as delivered are in the log once', async () => {
  const gateway = await givenGateway({})
  const analytics = new Analytics({ writeKey: gateway.keys.admin, host: `http://127.0.0.1:${gateway.port}` })
  const failed: unknown[] = []
  analytics.on('error', (error) => failed.push(error))
  const names = Array.from({ length: 40 }, (_, index) => `step ${index}`)

  analytics.identify({
    userId: 'ada',
    traits: { plan: 'pro', shop: { seats: 3 } },
    context: { timezone: 'Europe/Berlin' },
  })
  for (const [index, event] of names.entries()) analytics.track({ userId: 'ada', event, properties: { index } })
  analytics.page({ userId: 'ada', name: 'Home' })
  analytics.track({ anonymousId: 'nobody', event: 'seen' })
  await analytics.closeAndFlush()

  expect(failed).toEqual([])
  const userId = userIdOf(gateway.config.id, 'shop', 'ada')
  const facts = (await gateway.records()).flatMap(({ fact }) => (fact.userId === userId ? [fact] : []))
  // The library sends batches in parallel, so their order may change.
  const identify = facts.find(({ type }) => type === 'IdentifyRequested')
  expect(identify).toMatchObject({
    operations: { set: { plan: 'pro', 'shop.seats': 3 } },
    device: { $timezone: 'Europe/Berlin' },
  })
  const recorded = facts
    .filter((fact) => fact !== identify)
    .map((fact) => (fact.type === 'EventTracked' ? fact.eventName : fact.type))
  expect(recorded.toSorted()).toEqual(names.toSorted())
})
