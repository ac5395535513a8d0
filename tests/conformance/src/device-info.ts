import { describe, expect, it } from 'vitest'
import { callerOf, errorOf } from './call.ts'

/** The contract, Device info object; decisions.md, Identify. */
export function describeDeviceInfo(): void {
  const { identify } = callerOf('SHOP_ADMIN_P')
  const withTraits = (userAttributes: unknown) => identify({ userName: 'device-info', userAttributes })
  const withDevice = ($deviceInfo: unknown) => identify({ userName: 'device-info', $deviceInfo })
  const ok = { status: 200, body: { message: 'ok' } }

  describe('$countryCode: assigned ISO 3166-1 alpha-2, either case; else 400 invalid country passed', () => {
    it.each(['DE', 'de', 'De', 'us', 'GB', 'AX', 'BQ', 'SS', 'TW', 'ZW', 'ad'])('%s: 200', async ($countryCode) => {
      expect(await withDevice({ $countryCode })).toMatchObject(ok)
    })

    it.each([
      'XX',
      'ZZ',
      'UK',
      'EU',
      'XK',
      'AN',
      'SU',
      'YU',
      'AA',
      'EN',
      'DEU',
      'D',
      '',
      ' DE',
      'DE ',
      'ß',
      '12',
      'Germany',
      49,
      true,
      {},
      ['DE'],
      [],
    ])('%j: 400', async ($countryCode) => {
      expect(await withDevice({ $countryCode })).toMatchObject(errorOf(400, 'invalid country passed'))
    })

    it('is also checked inside a trait operation', async () => {
      expect(await withTraits({ $set: { $countryCode: 'fr' } })).toMatchObject(ok)
      expect(await withTraits({ $set: { $countryCode: 'XX' } })).toMatchObject(errorOf(400, 'invalid country passed'))
      expect(await withTraits({ $setOnce: { $countryCode: 'XX' } })).toMatchObject(
        errorOf(400, 'invalid country passed'),
      )
    })
  })

  describe('$timezone: an IANA name, no offsets', () => {
    it.each([
      'Europe/Berlin',
      'UTC',
      'America/Argentina/Buenos_Aires',
      'Asia/Kolkata',
      'Asia/Calcutta',
      'Etc/GMT+5',
      'europe/berlin',
    ])('%s: 200', async ($timezone) => {
      expect(await withDevice({ $timezone })).toMatchObject(ok)
    })

    it.each([
      'Mars/Base',
      '+01:00',
      '-0500',
      '+01',
      'UTC+1',
      'GMT+1',
      'Europe/',
      'Europe/Berlin ',
      '',
      1,
      true,
      {},
      ['UTC'],
    ])('%j: 400', async ($timezone) => {
      expect(await withDevice({ $timezone })).toMatchObject(errorOf(400, expect.stringContaining('$timezone')))
    })
  })

  describe('device info object: allowed values', () => {
    it.each([
      ['$deviceOs', ['iOS', 'Android', 'Windows']],
      ['$deviceType', ['web', 'native']],
      ['$deviceSize', ['desktop', 'tablet', 'mobile']],
      ['$preferredTheme', ['light', 'dark']],
    ])('%s takes %j and nothing else', async (member, values) => {
      for (const value of values) expect(await withDevice({ [member]: value })).toMatchObject(ok)
      for (const value of [
        '',
        'Linux',
        values[0]?.toUpperCase() === values[0] ? 'x' : values[0]?.toUpperCase(),
        ` ${values[0]}`,
        1,
        [values[0]],
      ])
        expect(await withDevice({ [member]: value })).toMatchObject(errorOf(400, expect.stringContaining(member)))
    })

    it.each([
      '$deviceOsVersion',
      '$sdkVersion',
      '$app',
      '$appVersion',
      '$deviceLanguage',
      '$userLanguage',
      '$deviceId',
      '$urlOrScreenName',
      '$browser',
      '$browserVersion',
    ])('%s is a string: others get 400 naming it', async (member) => {
      expect(await withDevice({ [member]: 'x' })).toMatchObject(ok)
      for (const value of [1, true, {}, [], ['x']])
        expect(await withDevice({ [member]: value })).toMatchObject(errorOf(400, expect.stringContaining(member)))
    })

    it('has no length limit: a long screen address passes', async () => {
      expect(await withDevice({ $urlOrScreenName: `https://shop.example/?q=${'x'.repeat(5_000)}` })).toMatchObject(ok)
    })

    it('unknown members are dropped, whatever their value', async () => {
      expect(await withDevice({ $unknown: 1, app: {}, $countrycode: 'XX', constructor: [] })).toMatchObject(ok)
      expect(await identify('{"userName":"a","$deviceInfo":{"__proto__":{"$countryCode":"XX"}}}')).toMatchObject(ok)
    })

    it.each([1, 'DE', true, [], ['DE'], ''])('$deviceInfo must be an object: %j gets 400', async ($deviceInfo) => {
      expect(await withDevice($deviceInfo)).toMatchObject(errorOf(400, expect.stringContaining('$deviceInfo')))
    })
  })
}
