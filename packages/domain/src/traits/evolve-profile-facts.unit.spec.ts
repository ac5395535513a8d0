import type { IdentifyRequested } from '@nextvisit/contracts'
import { identifyRequested } from '@nextvisit/contracts/fixtures'
import { describe, expect, it } from 'vitest'
import { evolveProfileFacts, identifiedAt, NO_PROFILE, type ProfileFacts } from './evolve-profile-facts.ts'
import { traitBytesOf } from './trait-limits.ts'

const RECEIVED = '2026-11-02T12:00:00.000Z'
const LAST_YEAR = '2025-06-01T08:00:00.000Z'
const KNOWN: ProfileFacts = {
  traits: new Map([['plan', 'free']]),
  traitBytes: traitBytesOf('plan', 'free'),
  device: { $countryCode: 'DE', $deviceOs: 'iOS' },
}

const identify = (special: Partial<IdentifyRequested> = {}) =>
  identifyRequested({
    received: RECEIVED,
    operations: { set: { plan: 'pro', city: 'London' } },
    device: { $deviceOs: 'Android', $app: 'shop' },
    ...special,
  })

describe('an identify and what is known of its user', () => {
  it('is laid over it (decisions.md, Identify)', () => {
    expect(evolveProfileFacts(KNOWN, identify())).toMatchObject({
      traits: new Map([
        ['plan', 'pro'],
        ['city', 'London'],
      ]),
      device: { $countryCode: 'DE', $deviceOs: 'Android', $app: 'shop' },
    })
  })

  it('fills in what is not known where it was imported (decisions.md, Import)', () => {
    expect(evolveProfileFacts(KNOWN, identify({ imported: true }))).toMatchObject({
      traits: new Map([
        ['plan', 'free'],
        ['city', 'London'],
      ]),
      device: { $countryCode: 'DE', $deviceOs: 'iOS', $app: 'shop' },
    })
  })

  it('loses a device fact of more than 2,048 bytes, and keeps the one that is known', () => {
    const long = { $app: 'ä'.repeat(1_025), $urlOrScreenName: 'ä'.repeat(1_024) }
    for (const imported of [true, undefined]) {
      const { device, dropped } = evolveProfileFacts(KNOWN, identify({ device: long, ...(imported && { imported }) }))
      expect(device).toEqual({ ...KNOWN.device, $urlOrScreenName: long.$urlOrScreenName })
      expect(dropped).toEqual(['$app'])
    }
  })

  it('drops the same of an import as of an identify, where it does not fit', () => {
    const set = Object.fromEntries(Array.from({ length: 1_002 }, (_, at) => [`t${at}`, at]))
    for (const imported of [true, undefined]) {
      const after = evolveProfileFacts(NO_PROFILE, identify({ operations: { set }, ...(imported && { imported }) }))
      expect([after.traits.size, after.dropped]).toEqual([1_000, ['t1000', 't1001']])
    }
  })

  it('saw the user on its arrival, or when an imported line says', () => {
    expect(identifiedAt(identify())).toBe(RECEIVED)
    expect(identifiedAt(identify({ imported: true }))).toBe(RECEIVED)
    expect(identifiedAt(identify({ imported: true, occurredAt: LAST_YEAR }))).toBe(LAST_YEAR)
  })
})
