import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { isTimezone } from './is-timezone.ts'

function isKnownToIntl(timeZone: string): boolean {
  try {
    return new Intl.DateTimeFormat('en', { timeZone }).resolvedOptions().timeZone !== ''
  } catch {
    return false
  }
}

const LISTED = Intl.supportedValuesOf('timeZone')
const parts = (at: number) => [...new Set(LISTED.flatMap((name) => name.split('/').at(at) ?? []))]
const LINKS = [
  'UTC',
  'GMT',
  'EST5EDT',
  'GB-Eire',
  'Etc/GMT+12',
  'Etc/GMT-14',
  'Europe/Kyiv',
  'Asia/Kolkata',
  'us/pacific',
]

describe('a time zone', () => {
  it('is known in any case', () => {
    const names = [...LISTED, ...LINKS].flatMap((name) => [name, name.toLowerCase(), name.toUpperCase()])
    expect(names.filter((name) => !isTimezone(name))).toEqual([])
  })

  it('is known exactly if Intl knows it', () => {
    const word = fc.constantFrom(
      ...parts(0),
      ...parts(-1),
      ...LINKS,
      'US',
      'Brazil',
      'Canada',
      'SystemV',
      'Mars',
      'EST',
    )
    const name = fc.tuple(word, word).map(([area, city]) => (area === city ? city : `${area}/${city}`))
    fc.assert(
      fc.property(name, (text) => {
        expect(isTimezone(text)).toBe(isKnownToIntl(text))
      }),
      { numRuns: 1_000 },
    )
  })

  it.each(['+01:00', '', ' UTC', 'UTC\n', 'Europe', 'europe/\u212Ayiv', 'Z', 'x'.repeat(100_000)])(
    'is not %j',
    (name) => expect(isTimezone(name)).toBe(false),
  )
})
