import { eventTracked, identifyRequested } from '@nextvisit/contracts/fixtures'
import { expect, it } from 'vitest'
import { carriedNames } from './carried-names.ts'

it("an event's record carries its name, marked if it is new", () => {
  const event = eventTracked({ eventName: 'Checkout Completed', slug: 'checkout_completed', newEvent: true })
  expect(carriedNames(event)).toEqual([
    { kind: 'event', slug: 'checkout_completed', name: 'Checkout Completed', isNew: true },
  ])
})

it("an identify's record carries each trait once, marked if it is new", () => {
  const identify = identifyRequested({
    operations: { set: { plan: 'pro', seats: 1 }, increment: { seats: 1 } },
    registeredTraits: ['plan'],
  })
  expect(carriedNames(identify)).toEqual([
    { kind: 'trait', slug: 'plan', name: 'plan', isNew: true },
    { kind: 'trait', slug: 'seats', name: 'seats', isNew: false },
  ])
})
