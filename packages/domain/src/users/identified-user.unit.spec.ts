import type { IdentifyRequested, RequestFact } from '@nextvisit/contracts'
import { eventTracked, identifyRequested, visit } from '@nextvisit/contracts/fixtures'
import { describe, expect, it } from 'vitest'
import { type IdentifiedUser, identifyUser, withLastSeen } from './identified-user.ts'

const MORNING = '2026-11-02T08:00:00.000Z'
const NOON = '2026-11-02T12:00:00.000Z'
const EVENING = '2026-11-02T18:00:00.000Z'

const given = (...facts: RequestFact[]): IdentifiedUser | undefined =>
  facts.reduce<IdentifiedUser | undefined>((user, fact) => {
    if (fact.type === 'EventTracked') return user && withLastSeen(user, fact)
    return identifyUser(user, fact).user
  }, undefined)

const LAST_YEAR = '2025-06-01T08:00:00.000Z'
const importedIdentify = (special: Partial<IdentifyRequested> = {}) =>
  identifyRequested({ imported: true, occurredAt: LAST_YEAR, ...special })

describe('a user (decisions.md, Identify)', () => {
  it('is created by the first identify', () => {
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
      traitBytes: 11,
      device: { $countryCode: 'DE', $deviceOs: 'iOS' },
      firstSeenAt: NOON,
      lastSeenAt: NOON,
      droppedTraitOperations: 0,
    })
  })

  it('was first and last seen at the earliest and latest receipt with either key, in any order', () => {
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
    expect(user).toMatchObject({ device: { $countryCode: 'DE', $deviceOs: 'iOS', $app: 'shop-lite' } })
  })

  it("was last seen at an event from the user's own app", () => {
    const user = given(
      identifyRequested({ received: MORNING }),
      eventTracked({ source: 'sdk', received: EVENING }),
      eventTracked({ source: 'sdk', received: NOON }),
    )
    expect(user).toMatchObject({ firstSeenAt: MORNING, lastSeenAt: EVENING })
  })

  it('counts skipped increments', () => {
    const before = given(identifyRequested({ operations: { set: { plan: 'pro' } } }))
    const { skippedIncrements } = identifyUser(before, identifyRequested({ operations: { increment: { plan: 1 } } }))
    expect(skippedIncrements).toBe(1)
  })

  it('counts dropped operations, of one identify and in total', () => {
    const set = Object.fromEntries(Array.from({ length: 1_002 }, (_, at) => [`t${at}`, at]))
    const before = given(identifyRequested({ operations: { set } }))
    const after = identifyUser(before, identifyRequested({ operations: { setOnce: { oneMore: 1 } } }))
    expect([before?.droppedTraitOperations, after.dropped, after.user.droppedTraitOperations]).toEqual([2, 1, 3])
  })
})

describe('a user of an import (decisions.md, Import)', () => {
  it('is created by it, first and last seen at the time of its line', () => {
    const user = given(importedIdentify({ operations: { set: { plan: 'pro' } }, device: { $countryCode: 'DE' } }))
    expect(user).toMatchObject({ device: { $countryCode: 'DE' }, firstSeenAt: LAST_YEAR, lastSeenAt: LAST_YEAR })
    expect(user?.traits).toEqual(new Map([['plan', 'pro']]))
  })

  it('is created at its receipt if its line has no time', () => {
    const user = given(identifyRequested({ imported: true, received: NOON }))
    expect(user).toMatchObject({ firstSeenAt: NOON, lastSeenAt: NOON })
  })

  it('was first seen earlier, and not seen later', () => {
    const seenLater = given(identifyRequested({ received: NOON }), importedIdentify())
    expect(seenLater).toMatchObject({ firstSeenAt: LAST_YEAR, lastSeenAt: NOON })
    const importedLater = given(importedIdentify(), importedIdentify({ occurredAt: MORNING }))
    expect(importedLater).toMatchObject({ firstSeenAt: LAST_YEAR, lastSeenAt: LAST_YEAR })
  })

  it('gains only unknown facts; null is known', () => {
    const user = given(
      identifyRequested({ operations: { set: { plan: 'free', nickname: null } }, device: { $countryCode: 'DE' } }),
      importedIdentify({
        operations: {
          set: { plan: 'pro', nickname: 'Ada', city: 'London' },
          increment: { logins: 2 },
          unset: ['plan'],
        },
        device: { $countryCode: 'FR', $app: 'shop' },
      }),
      importedIdentify({ operations: { increment: { logins: 3 } }, device: { $app: 'other' } }),
    )
    expect(user?.traits).toEqual(
      new Map<string, unknown>([
        ['plan', 'free'],
        ['nickname', null],
        ['city', 'London'],
        ['logins', 2],
      ]),
    )
    expect(user).toMatchObject({ device: { $countryCode: 'DE', $app: 'shop' } })
  })
})
