import { expect, it } from 'vitest'
import { fieldValueOf, instantOf } from './instant-of.ts'

const AT = '2026-11-28T03:04:05.000Z'

it.each(['local', 'utc'] as const)('an instant survives a field for date and time, in the zone %s', (zone) => {
  expect(instantOf(fieldValueOf(AT, zone), zone)).toBe(AT)
})

it('a field for date and time has UTC if the page has', () => {
  expect(fieldValueOf(AT, 'utc')).toBe('2026-11-28T03:04:05')
  expect(instantOf('2026-11-28T03:04', 'utc')).toBe('2026-11-28T03:04:00.000Z')
})
