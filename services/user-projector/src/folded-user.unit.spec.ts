import type { EventTracked, IdentifyRequested } from '@nextvisit/contracts'
import { eventTracked, identifyRequested, visit } from '@nextvisit/contracts/fixtures'
import { describe, expect, it } from 'vitest'
import { type FoldedUser, identified, seen } from './folded-user.ts'

const MORNING = '2026-11-02T08:00:00.000Z'
const NOON = '2026-11-02T12:00:00.000Z'
const EVENING = '2026-11-02T18:00:00.000Z'

const given = (...facts: (IdentifyRequested | EventTracked)[]): FoldedUser | undefined =>
  facts.reduce<FoldedUser | undefined>(
    (user, fact) => (fact.type === 'IdentifyRequested' ? identified(user, fact).user : user && seen(user, fact)),
    undefined,
  )

describe('a user (decisions.md, Identify)', () => {
  it('appears with the first identify', () => {
    const fact = identifyRequested({
      received: NOON,
      operations: { set: { plan: 'pro' } },
      device: { $countryCode: 'DE', $deviceOs: 'iOS' },
    })
    expect(given(fact)).toEqual({
      organization: 'acme',
      project: 'shop',
      userId: fact.userId,
      userName: 'ada',
      traits: new Map([['plan', 'pro']]),
      country: 'DE',
      device: { $deviceOs: 'iOS' },
      firstSeenAt: NOON,
      lastSeenAt: NOON,
    })
  })

  it('was first and last seen at the least and greatest received of either key, in whatever order they come', () => {
    const user = given(
      identifyRequested({ received: NOON }),
      visit({ received: EVENING }),
      identifyRequested({ received: MORNING }),
    )
    expect(user).toMatchObject({ firstSeenAt: MORNING, lastSeenAt: EVENING })
  })

  it('keeps country and device facts that a later identify does not name', () => {
    const user = given(
      identifyRequested({ device: { $countryCode: 'DE', $deviceOs: 'iOS', $app: 'shop' } }),
      identifyRequested({ device: { $app: 'shop-lite' } }),
    )
    expect(user).toMatchObject({ country: 'DE', device: { $deviceOs: 'iOS', $app: 'shop-lite' } })
  })

  it('is seen by an event of their own app, and first seen stays', () => {
    const user = given(
      identifyRequested({ received: MORNING }),
      eventTracked({ source: 'sdk', received: EVENING }),
      eventTracked({ source: 'sdk', received: NOON }),
    )
    expect(user).toMatchObject({ firstSeenAt: MORNING, lastSeenAt: EVENING })
  })

  it('tells how many increments were skipped', () => {
    const before = given(identifyRequested({ operations: { set: { plan: 'pro' } } }))
    const { skippedIncrements } = identified(before, identifyRequested({ operations: { increment: { plan: 1 } } }))
    expect(skippedIncrements).toBe(1)
  })
})
