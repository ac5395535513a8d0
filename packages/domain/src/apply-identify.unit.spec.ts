import type { IdentifyRequested } from '@nextvisit/contracts'
import { identifyRequested } from '@nextvisit/contracts/fixtures'
import { describe, expect, it } from 'vitest'
import { applyIdentify, identifiedAt, type ProfileFacts } from './apply-identify.ts'

const RECEIVED = '2026-11-02T12:00:00.000Z'
const LAST_YEAR = '2025-06-01T08:00:00.000Z'
const KNOWN: ProfileFacts = { traits: new Map([['plan', 'free']]), device: { $countryCode: 'DE', $deviceOs: 'iOS' } }

const identify = (special: Partial<IdentifyRequested> = {}) =>
  identifyRequested({
    received: RECEIVED,
    operations: { set: { plan: 'pro', city: 'London' } },
    device: { $deviceOs: 'Android', $app: 'shop' },
    ...special,
  })

describe('an identify and what is known of its user', () => {
  it('is laid over it (decisions.md, Identify)', () => {
    expect(applyIdentify(KNOWN, identify())).toMatchObject({
      traits: new Map([
        ['plan', 'pro'],
        ['city', 'London'],
      ]),
      device: { $countryCode: 'DE', $deviceOs: 'Android', $app: 'shop' },
    })
  })

  it('fills in what is not known where it was imported (decisions.md, Import)', () => {
    expect(applyIdentify(KNOWN, identify({ imported: true }))).toMatchObject({
      traits: new Map([
        ['plan', 'free'],
        ['city', 'London'],
      ]),
      device: { $countryCode: 'DE', $deviceOs: 'iOS', $app: 'shop' },
    })
  })

  it('saw the user on its arrival, or when an imported line says', () => {
    expect(identifiedAt(identify())).toBe(RECEIVED)
    expect(identifiedAt(identify({ imported: true }))).toBe(RECEIVED)
    expect(identifiedAt(identify({ imported: true, occurredAt: LAST_YEAR }))).toBe(LAST_YEAR)
  })
})
