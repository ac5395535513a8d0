import type { IdentifyRequested } from '@nextvisit/contracts'
import { identifyRequested } from '@nextvisit/contracts/fixtures'
import { describe, expect, it } from 'vitest'
import { applyIdentify, identifiedAt } from './apply-identify.ts'
import { EMPTY_PROFILE, type Profile } from '../traits/profile.ts'
import { traitBytesOf } from '../traits/trait-limits.ts'

const RECEIVED = '2026-11-02T12:00:00.000Z'
const LAST_YEAR = '2025-06-01T08:00:00.000Z'
const KNOWN: Profile = {
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

describe('an identify', () => {
  it('overwrites known facts (decisions.md, Identify)', () => {
    expect(applyIdentify(KNOWN, identify()).profile).toMatchObject({
      traits: new Map([
        ['plan', 'pro'],
        ['city', 'London'],
      ]),
      device: { $countryCode: 'DE', $deviceOs: 'Android', $app: 'shop' },
    })
  })

  it('fills in only unknown facts if it is imported (decisions.md, Import)', () => {
    expect(applyIdentify(KNOWN, identify({ imported: true })).profile).toMatchObject({
      traits: new Map([
        ['plan', 'free'],
        ['city', 'London'],
      ]),
      device: { $countryCode: 'DE', $deviceOs: 'iOS', $app: 'shop' },
    })
  })

  it('drops a device fact of more than 2,048 bytes, and keeps the known one', () => {
    const long = { $app: 'ä'.repeat(1_025), $urlOrScreenName: 'ä'.repeat(1_024) }
    for (const imported of [true, undefined]) {
      const { profile, dropped } = applyIdentify(KNOWN, identify({ device: long, ...(imported && { imported }) }))
      expect(profile.device).toEqual({ ...KNOWN.device, $urlOrScreenName: long.$urlOrScreenName })
      expect(dropped).toEqual(['$app'])
    }
  })

  it('drops the same excess operations if it is imported', () => {
    const set = Object.fromEntries(Array.from({ length: 1_002 }, (_, at) => [`t${at}`, at]))
    for (const imported of [true, undefined]) {
      const after = applyIdentify(EMPTY_PROFILE, identify({ operations: { set }, ...(imported && { imported }) }))
      expect([after.profile.traits.size, after.dropped]).toEqual([1_000, ['t1000', 't1001']])
    }
  })

  it('saw the user at its receipt, or at the time of its imported line', () => {
    expect(identifiedAt(identify())).toBe(RECEIVED)
    expect(identifiedAt(identify({ imported: true }))).toBe(RECEIVED)
    expect(identifiedAt(identify({ imported: true, occurredAt: LAST_YEAR }))).toBe(LAST_YEAR)
  })
})
