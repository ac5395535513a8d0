import { errorOf } from './call.ts'
import { casesOf, describeCases, rowsOf } from './describe-cases.ts'
import { ACCEPTED } from './senders.ts'
import { expect } from 'vitest'

const OK = { expected: { status: 200, body: { message: 'ok' } } }
/** Expects 400 naming the member. Visits and Segment's routes drop values that the device table does not allow. */
const naming = (member: string) => ({
  expected: errorOf(400, expect.stringContaining(member)),
  bySdk: OK.expected,
  bySegment: ACCEPTED,
})
const invalidCountry = { expected: errorOf(400, 'invalid country passed'), bySdk: OK.expected }

const withTraits = (userAttributes: unknown) => ({ userName: 'device-info', userAttributes })
const withDevice = ($deviceInfo: unknown) => ({ userName: 'device-info', $deviceInfo })
const at = (member: string) => (value: unknown) => withDevice({ [member]: value })
/** Returns the values of one member as rows. */
const rowsAt = (member: string, values: readonly unknown[]) =>
  values.map((value) => [`${member} ${JSON.stringify(value)}`, value] as const)

const ASSIGNED = ['DE', 'de', 'De', 'us', 'GB', 'AX', 'BQ', 'SS', 'TW', 'ZW', 'ad']
const NOT_ASSIGNED = ['XX', 'ZZ', 'UK', 'EU', 'XK', 'AN', 'SU', 'YU', 'AA', 'EN']
const NO_COUNTRY = ['DEU', 'D', '', ' DE', 'DE ', 'ß', '12', 'Germany', 49, true, {}, ['DE'], []]

const COUNTRIES = [
  ...casesOf('identify', rowsOf(ASSIGNED), at('$countryCode'), OK),
  ...casesOf('identify', rowsOf([...NOT_ASSIGNED, ...NO_COUNTRY]), at('$countryCode'), invalidCountry),
  ...casesOf('identify', rowsOf([{ $set: { $countryCode: 'fr' } }]), withTraits, OK),
  ...casesOf(
    'identify',
    rowsOf([{ $set: { $countryCode: 'XX' } }, { $setOnce: { $countryCode: 'XX' } }]),
    withTraits,
    invalidCountry,
  ),
]

const TIMEZONES = [
  'Europe/Berlin',
  'UTC',
  'America/Argentina/Buenos_Aires',
  'Asia/Kolkata',
  'Asia/Calcutta',
  'Etc/GMT+5',
  'europe/berlin',
]
const OFFSETS = ['+01:00', '-0500', '+01', 'UTC+1', 'GMT+1']
const NO_TIMEZONES = [...OFFSETS, 'Etc/Unknown', 'Mars/Base', 'Europe/', 'Europe/Berlin ', '', 1, true, {}, ['UTC']]

const ALLOWED: readonly (readonly [member: string, values: readonly [string, ...string[]]])[] = [
  ['$deviceOs', ['iOS', 'Android', 'Windows']],
  ['$deviceType', ['web', 'native']],
  ['$deviceSize', ['desktop', 'tablet', 'mobile']],
  ['$preferredTheme', ['light', 'dark']],
]
const TEXTS = [
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
]

/** Returns values outside a list: the first in another case, with white space, or of another type. */
const notAllowed = ([first]: readonly [string, ...string[]]) => {
  const upperCase = first.toUpperCase()
  return ['', 'Linux', upperCase === first ? 'x' : upperCase, ` ${first}`, 1, [first]]
}

const VALUES = [
  ...ALLOWED.flatMap(([member, values]) => [
    ...casesOf('identify', rowsAt(member, values), at(member), OK),
    ...casesOf('identify', rowsAt(member, notAllowed(values)), at(member), naming(member)),
  ]),
  ...TEXTS.flatMap((member) => [
    ...casesOf('identify', rowsAt(member, ['x']), at(member), OK),
    ...casesOf('identify', rowsAt(member, [1, true, {}, [], ['x']]), at(member), naming(member)),
  ]),
  ...casesOf(
    'identify',
    [
      ['a long screen address', { $urlOrScreenName: `https://shop.example/?q=${'x'.repeat(5_000)}` }],
      ['unknown members with any value', { $unknown: 1, app: {}, $countrycode: 'XX', constructor: [] }],
      ['the member __proto__', JSON.parse('{"__proto__":{"$countryCode":"XX"}}')],
    ],
    withDevice,
    OK,
  ),
  ...casesOf('identify', rowsAt('$deviceInfo', [1, 'DE', true, ['DE'], '']), withDevice, naming('$deviceInfo')),
]

/** Tests the contract, Device info object; decisions.md, Identify. */
export function describeDeviceInfo(): void {
  describeCases('$countryCode: assigned ISO 3166-1 alpha-2, either case; also in a trait operation', 'SHOP', COUNTRIES)
  describeCases('$timezone: an IANA name, no offsets', 'SHOP', [
    ...casesOf('identify', rowsOf(TIMEZONES), at('$timezone'), OK),
    ...casesOf('identify', rowsOf(NO_TIMEZONES), at('$timezone'), naming('$timezone')),
  ])
  describeCases('device info object: allowed values', 'SHOP', VALUES)
}
