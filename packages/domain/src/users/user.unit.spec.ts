import type { IdentifyRequested, ActivityFact } from '@nextvisit/contracts'
import { eventTracked, identifyRequested, visit } from '@nextvisit/contracts/fixtures'
import { describe, expect, it } from 'vitest'
import { EMPTY_PROFILE } from '../traits/profile.ts'
import { applyEvent, applyIdentify, type User } from './user.ts'

const LAST_YEAR = '2025-06-01T08:00:00.000Z'
const MORNING = '2026-11-02T08:00:00.000Z'
const NOON = '2026-11-02T12:00:00.000Z'
const EVENING = '2026-11-02T18:00:00.000Z'
const ms = Date.parse

/** A user after these records. */
function given(...facts: ActivityFact[]): User {
  const user: User = { profile: EMPTY_PROFILE, events: new Map(), answers: new Map() }
  for (const fact of facts) {
    if (fact.type === 'EventTracked') applyEvent(user, fact)
    else applyIdentify(user, fact)
  }
  return user
}

const traitsOf = ({ profile }: User) => Object.fromEntries(profile.traits)
const importedIdentify = (special: Partial<IdentifyRequested> = {}) =>
  identifyRequested({ imported: true, occurredAt: LAST_YEAR, ...special })

describe('an identify (decisions.md, Identify)', () => {
  it('creates the user', () => {
    const user = given(
      identifyRequested({
        received: NOON,
        operations: { set: { plan: 'pro' } },
        device: { $countryCode: 'DE', $deviceOs: 'iOS' },
      }),
    )
    expect(user).toEqual({
      profile: {
        traits: new Map([['plan', 'pro']]),
        traitBytes: 11,
        device: { $countryCode: 'DE', $deviceOs: 'iOS' },
      },
      firstSeenAt: ms(NOON),
      lastSeenAt: ms(NOON),
      events: new Map(),
      answers: new Map(),
    })
  })

  it('overwrites known facts, and keeps the facts that it does not name', () => {
    const user = given(
      identifyRequested({
        operations: { set: { plan: 'free' } },
        device: { $countryCode: 'DE', $deviceOs: 'iOS', $app: 'shop' },
      }),
      identifyRequested({
        operations: { set: { plan: 'pro', city: 'London' } },
        device: { $deviceOs: 'Android', $appVersion: '2' },
      }),
    )
    expect(traitsOf(user)).toEqual({ plan: 'pro', city: 'London' })
    expect(user.profile.device).toEqual({ $countryCode: 'DE', $deviceOs: 'Android', $app: 'shop', $appVersion: '2' })
  })

  it('returns the operations that were skipped or dropped', () => {
    const set = Object.fromEntries(Array.from({ length: 1_002 }, (_, at) => [`t${at}`, at]))
    const user = given()
    expect(applyIdentify(user, identifyRequested({ operations: { set } })).dropped).toEqual(['t1000', 't1001'])
    const next = identifyRequested({
      operations: { set: { t0: 'text' }, setOnce: { oneMore: 1 }, increment: { t0: 1 } },
    })
    expect(applyIdentify(user, next)).toEqual({ skipped: ['t0'], dropped: ['oneMore'] })
  })

  it('drops a device fact of more than 2,048 bytes, and keeps the known one', () => {
    const known = { $app: 'shop', $deviceOs: 'iOS' }
    const long = { $app: 'ä'.repeat(1_025), $urlOrScreenName: 'ä'.repeat(1_024) }
    for (const next of [identifyRequested({ device: long }), importedIdentify({ device: long })]) {
      const user = given(identifyRequested({ device: known }))
      expect(applyIdentify(user, next).dropped).toEqual(['$app'])
      expect(user.profile.device).toEqual({ ...known, $urlOrScreenName: long.$urlOrScreenName })
    }
  })
})

describe('the instants when a user was first and last seen (decisions.md, Identify)', () => {
  it('are those of the earliest and latest receipt with either key, in any order', () => {
    const user = given(
      identifyRequested({ received: NOON }),
      visit({ received: EVENING }),
      identifyRequested({ received: MORNING }),
    )
    expect(user).toMatchObject({ firstSeenAt: ms(MORNING), lastSeenAt: ms(EVENING) })
  })

  it("follow events from the user's own app after the first identify", () => {
    const user = given(
      eventTracked({ source: 'sdk', received: EVENING }),
      identifyRequested({ received: MORNING }),
      eventTracked({ source: 'admin', received: EVENING }),
    )
    expect(user).toMatchObject({ firstSeenAt: ms(MORNING), lastSeenAt: ms(MORNING) })
    applyEvent(user, eventTracked({ source: 'sdk', received: EVENING }))
    applyEvent(user, eventTracked({ source: 'sdk', received: NOON }))
    expect(user).toMatchObject({ firstSeenAt: ms(MORNING), lastSeenAt: ms(EVENING) })
  })
})

describe('an imported identify (decisions.md, Import)', () => {
  it('creates the user, first and last seen at the time of its line', () => {
    const user = given(importedIdentify({ operations: { set: { plan: 'pro' } }, device: { $countryCode: 'DE' } }))
    expect(user).toMatchObject({ firstSeenAt: ms(LAST_YEAR), lastSeenAt: ms(LAST_YEAR) })
    expect(user.profile.device).toEqual({ $countryCode: 'DE' })
    expect(traitsOf(user)).toEqual({ plan: 'pro' })
  })

  it('creates the user at its receipt if its line has no time', () => {
    const user = given(identifyRequested({ imported: true, received: NOON }))
    expect(user).toMatchObject({ firstSeenAt: ms(NOON), lastSeenAt: ms(NOON) })
  })

  it('may make the first instant earlier, and makes the last one no later', () => {
    const seenLater = given(identifyRequested({ received: NOON }), importedIdentify())
    expect(seenLater).toMatchObject({ firstSeenAt: ms(LAST_YEAR), lastSeenAt: ms(NOON) })
    const importedLater = given(importedIdentify(), importedIdentify({ occurredAt: MORNING }))
    expect(importedLater).toMatchObject({ firstSeenAt: ms(LAST_YEAR), lastSeenAt: ms(LAST_YEAR) })
  })

  it('fills in only unknown facts; null is known', () => {
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
    expect(traitsOf(user)).toEqual({ plan: 'free', nickname: null, city: 'London', logins: 2 })
    expect(user.profile.device).toEqual({ $countryCode: 'DE', $app: 'shop' })
  })

  it('drops the same excess operations as a live one', () => {
    const set = Object.fromEntries(Array.from({ length: 1_002 }, (_, at) => [`t${at}`, at]))
    const user = given()
    expect(applyIdentify(user, importedIdentify({ operations: { set } })).dropped).toEqual(['t1000', 't1001'])
    expect(user.profile.traits.size).toBe(1_000)
  })
})
