import { DEFAULT_ALLOWED_FIELDS } from '@nextvisit/contracts'
import { describe, expect, it } from 'vitest'
import { checkImportLine } from '../import-line.ts'
import { EXPORT_FORMATS, type ExportFormat, likelyFormatOf, parseExportLine } from './export-formats.ts'
import type { ExportLine } from './export-line.ts'

const NOW = Date.parse('2026-11-02T10:00:00.000Z')
const settings = { project: { allowedFields: new Set(DEFAULT_ALLOWED_FIELDS) }, timeZone: 'UTC', receivedMs: NOW }

function read(format: ExportFormat, line: object | string, timeZone = 'UTC'): ExportLine {
  const text = typeof line === 'string' ? line : JSON.stringify(line)
  return parseExportLine(format, Buffer.from(text), { ...settings, timeZone })
}

function okOf(format: ExportFormat, line: object, timeZone?: string) {
  const parsed = read(format, line, timeZone)
  if (parsed.outcome !== 'ok') throw new Error(JSON.stringify(parsed))
  return parsed
}

const at = (text: string) => Date.parse(text)
const rejected = (words: string) => ({ outcome: 'rejected', message: expect.stringContaining(words) })
const skipped = (reason: string) => ({ outcome: 'skipped', reason })

const SEGMENT = {
  type: 'track',
  userId: 'ada',
  anonymousId: '507f191e',
  event: 'Order Completed',
  properties: { total: 20, items: [{ sku: 'a' }] },
  context: { locale: 'de-DE', library: { name: 'analytics.js' } },
  messageId: 'ajs-1',
  originalTimestamp: '2021-03-01T09:00:09.000Z',
  sentAt: '2021-03-01T09:00:10.000Z',
  receivedAt: '2021-03-01T09:00:02.000Z',
  timestamp: '2021-03-01T09:00:01.000Z',
  integrations: { 'Google Analytics': false },
  _metadata: { bundled: ['Segment.io'] },
}
const MIXPANEL = {
  event: 'Signed up',
  properties: {
    time: 1_602_611_311,
    distinct_id: 'ada',
    $insert_id: 'hpuDqcvpltpCjBsebtxw',
    $browser: 'Firefox',
    $city: 'Berlin',
    mp_country_code: 'DE',
    mp_lib: 'web',
    mp_processing_time_ms: 1_602_625_711_874,
    plan: 'pro',
  },
}
const PROFILE = {
  $distinct_id: 'ada',
  $properties: {
    $created: '2008-12-12T11:20:47',
    $last_seen: '2009-06-09T23:08:40',
    $email: 'ada@example.com',
    $city: 'Berlin',
    plan: 'pro',
    company: { size: 5 },
  },
}
const AMPLITUDE = {
  amplitude_id: 258_901_028_347,
  device_id: 'C8F9E604-F01A-4BD9-95C6-8E5357DF265D',
  user_id: 'ada',
  event_type: 'Order Completed',
  event_time: '2015-08-10 12:00:00.123456',
  event_properties: { total: 20, '[Amplitude] Page Path': '/' },
  user_properties: { plan: 'pro', company: { city: 'Berlin' }, '[Amplitude] Cohort': 1 },
  user_creation_time: '2015-01-01 00:00:00.000000',
  uuid: '11bdbc7a-5da6-11e5-9f1b-22000b548f4f',
  $insert_id: 'insert-1',
  os_name: 'ios',
  version_name: '1.2',
  country: 'Germany',
  groups: {},
}
const POSTHOG = {
  uuid: '018daf23-89b3-7cf8-a4f1-94064c96df90',
  event: 'order completed',
  distinct_id: 'ada',
  timestamp: '2024-05-22T17:09:29.220000+00:00',
  properties: {
    total: 20,
    $current_url: 'https://example.com',
    $lib: 'web',
    $set: { plan: 'pro', $browser: 'Firefox' },
    $set_once: { $initial_referrer: 'x', source: 'ad' },
    $timezone: 'Europe/Berlin',
    token: 'phc_1',
  },
  person_properties: { plan: 'free', email: 'ada@example.com', $initial_os: 'Mac OS X' },
}
const LINES: Readonly<Record<ExportFormat, object>> = {
  segment: SEGMENT,
  mixpanel: MIXPANEL,
  amplitude: AMPLITUDE,
  posthog: POSTHOG,
}

describe('a line of an export from Segment', () => {
  it('is an event at the corrected time, with the device facts of its context', () => {
    expect(okOf('segment', SEGMENT)).toMatchObject({
      user: { userName: 'ada', atMs: at(SEGMENT.timestamp), set: {}, device: { $deviceLanguage: 'de-DE' } },
      track: {
        eventName: 'Order Completed',
        properties: SEGMENT.properties,
        occurredAt: '2021-03-01T09:00:01.000Z',
      },
    })
  })

  it('falls back to the time of the call, and then of the receipt', () => {
    const { timestamp: _, ...withoutTime } = SEGMENT
    expect(okOf('segment', withoutTime).user.atMs).toBe(at(SEGMENT.originalTimestamp))
    const { originalTimestamp: __, ...received } = withoutTime
    expect(okOf('segment', received).user.atMs).toBe(at(SEGMENT.receivedAt))
    const { receivedAt: ___, ...without } = received
    expect(read('segment', without)).toMatchObject(rejected('timestamp must be a date and time'))
  })

  it('sets flattened traits, and drops values that no trait can hold', () => {
    const traits = { plan: 'pro', company: { size: 5 }, bio: 'x'.repeat(501) }
    const { user, track } = okOf('segment', { ...SEGMENT, type: 'identify', traits })
    expect(user).toMatchObject({ set: { plan: 'pro', 'company.size': 5 }, droppedTraits: 1 })
    expect(track).toBeUndefined()
  })

  it.each(['page', 'screen', 'group', 'alias'])('is skipped if it is a %s', (type) => {
    expect(read('segment', { ...SEGMENT, type })).toEqual(skipped('automatic'))
  })

  it('does not count members that only the export has toward its size', () => {
    expect(okOf('segment', { ...SEGMENT, _metadata: 'x'.repeat(100_000) }).track).toBeDefined()
  })
})

/** Returns the instant of an event of Mixpanel with this time of day in a zone. */
function timeIn(zone: string, text: string): string {
  const properties = { ...MIXPANEL.properties, time: at(`${text}Z`) / 1_000 }
  return new Date(okOf('mixpanel', { ...MIXPANEL, properties }, zone).user.atMs ?? Number.NaN).toISOString()
}

describe('a line of an export from Mixpanel', () => {
  it('is an event without the properties that Mixpanel has added', () => {
    expect(okOf('mixpanel', MIXPANEL)).toMatchObject({
      user: { userName: 'ada', atMs: 1_602_611_311_000, device: { $countryCode: 'DE', $browser: 'Firefox' } },
      track: { eventName: 'Signed up', properties: { plan: 'pro' }, occurredAt: '2020-10-13T17:48:31.000Z' },
    })
  })

  it('has a time of day in the zone of an old project', () => {
    expect(timeIn('Europe/Berlin', '2021-01-01T12:00:00')).toBe('2021-01-01T11:00:00.000Z')
    expect(timeIn('Europe/Berlin', '2021-07-01T12:00:00')).toBe('2021-07-01T10:00:00.000Z')
    expect(timeIn('America/Los_Angeles', '2021-03-14T01:59:59')).toBe('2021-03-14T09:59:59.000Z')
    expect(timeIn('America/Los_Angeles', '2021-03-14T03:00:00')).toBe('2021-03-14T10:00:00.000Z')
    expect(timeIn('America/Los_Angeles', '2021-11-07T01:30:00')).toBe('2021-11-07T08:30:00.000Z')
    expect(timeIn('Europe/Berlin', '2021-10-31T02:30:00')).toBe('2021-10-31T00:30:00.000Z')
    expect(timeIn('Europe/Berlin', '2021-10-31T03:00:00')).toBe('2021-10-31T02:00:00.000Z')
    expect(timeIn('Asia/Kolkata', '2021-01-01T00:00:00')).toBe('2020-12-31T18:30:00.000Z')
  })

  it('may have its time in milliseconds', () => {
    const properties = { ...MIXPANEL.properties, time: 1_602_611_311_123 }
    expect(okOf('mixpanel', { ...MIXPANEL, properties }).user.atMs).toBe(1_602_611_311_123)
  })

  it('belongs to the user that its device was identified as', () => {
    const properties = { ...MIXPANEL.properties, distinct_id: '$device:1', $device_id: '1', $user_id: 'ada' }
    expect(okOf('mixpanel', { ...MIXPANEL, properties }).user.userName).toBe('ada')
  })

  it.each([
    ['$device:1', undefined],
    ['1', '1'],
    ['', undefined],
  ])('is skipped if %j is a device', (distinctId, $device_id) => {
    const properties = { ...MIXPANEL.properties, distinct_id: distinctId, $device_id }
    expect(read('mixpanel', { ...MIXPANEL, properties })).toEqual(skipped('anonymous'))
  })

  it('may be a profile: the traits of a user', () => {
    expect(okOf('mixpanel', PROFILE)).toMatchObject({
      user: {
        userName: 'ada',
        atMs: at('2009-06-09T23:08:40Z'),
        createdMs: at('2008-12-12T11:20:47Z'),
        set: { email: 'ada@example.com', plan: 'pro', 'company.size': 5 },
      },
    })
    expect(okOf('mixpanel', { ...PROFILE, $distinct_id: 4 }).user.userName).toBe('4')
    expect(read('mixpanel', { ...PROFILE, $distinct_id: '$device:1' })).toEqual(skipped('anonymous'))
  })

  it('may be a profile without a time', () => {
    const { user } = okOf('mixpanel', { ...PROFILE, $properties: { plan: 'pro' } })
    expect([user.atMs, user.set]).toEqual([undefined, { plan: 'pro' }])
  })

  it.each([
    [1e17, 'no more than 5 minutes in the future'],
    [-1e17, '1970-01-01 or later'],
    [8.64e15, 'no more than 5 minutes in the future'],
    [8.64e12, 'no more than 5 minutes in the future'],
    [1e308, 'no more than 5 minutes in the future'],
    [-62_135_596_800, '1970-01-01 or later'],
  ])('is refused in any zone at the time %d: it must be %s', (time, words) => {
    const line = { ...MIXPANEL, properties: { ...MIXPANEL.properties, time } }
    for (const zone of ['UTC', 'Europe/Berlin', 'Pacific/Kiritimati', 'America/Los_Angeles'])
      expect(read('mixpanel', line, zone)).toMatchObject(rejected(`properties.time must be ${words}`))
  })

  it('is refused without a time', () => {
    expect(read('mixpanel', { event: 'x', properties: { distinct_id: 'ada', time: 'now' } })).toMatchObject(
      rejected('properties.time must be a Unix time'),
    )
  })
})

describe('a line of an export from Amplitude', () => {
  it('is an event in UTC, with the traits of its user', () => {
    expect(okOf('amplitude', AMPLITUDE)).toMatchObject({
      user: {
        userName: 'ada',
        atMs: at('2015-08-10T12:00:00.123Z'),
        createdMs: at('2015-01-01T00:00:00Z'),
        set: { plan: 'pro', 'company.city': 'Berlin' },
        device: { $deviceOs: 'iOS', $appVersion: '1.2' },
      },
      track: { eventName: 'Order Completed', properties: { total: 20 }, occurredAt: '2015-08-10T12:00:00.123Z' },
    })
  })

  it.each(['$identify', 'session_start', '[Amplitude] Page Viewed'])(
    'tells only about its user if it is %s',
    (type) => {
      expect(okOf('amplitude', { ...AMPLITUDE, event_type: type })).toMatchObject({ user: { set: { plan: 'pro' } } })
      expect(okOf('amplitude', { ...AMPLITUDE, event_type: type }).track).toBeUndefined()
    },
  )

  it.each([null, ''])('is skipped if its user is %j', (user_id) => {
    expect(read('amplitude', { ...AMPLITUDE, user_id })).toEqual(skipped('anonymous'))
  })

  it('names its members in messages', () => {
    expect(read('amplitude', { ...AMPLITUDE, event_time: 'x' })).toMatchObject(rejected('event_time must be'))
    expect(read('amplitude', { ...AMPLITUDE, user_id: { id: 1 } })).toMatchObject(rejected('user_id must be text'))
    expect(read('amplitude', { ...AMPLITUDE, user_id: 'x'.repeat(256) })).toMatchObject(
      rejected('user_id must be at most'),
    )
    expect(read('amplitude', {})).toMatchObject(rejected('event_type must be'))
    const user_properties = Object.fromEntries(Array.from({ length: 251 }, (_, n) => [`p${n}`, n]))
    expect(read('amplitude', { ...AMPLITUDE, user_properties })).toMatchObject(
      rejected('user_properties must have at most 250'),
    )
  })
})

describe('a line of an export from PostHog', () => {
  it('is an event with its changes to the person, which win over the person as of the event', () => {
    expect(okOf('posthog', POSTHOG)).toMatchObject({
      user: {
        userName: 'ada',
        set: { plan: 'pro', email: 'ada@example.com' },
        setOnce: { source: 'ad' },
        device: { $timezone: 'Europe/Berlin' },
      },
      track: { eventName: 'order completed', properties: { total: 20 }, occurredAt: '2024-05-22T17:09:29.220Z' },
    })
  })

  it('may have its objects as text', () => {
    const texts = {
      properties: JSON.stringify(POSTHOG.properties),
      person_properties: JSON.stringify(POSTHOG.person_properties),
    }
    expect(okOf('posthog', { ...POSTHOG, ...texts })).toEqual(okOf('posthog', POSTHOG))
  })

  it.each(['$pageview', '$autocapture', '$identify', '$set'])('tells only about its user if it is %s', (event) => {
    const { user, track } = okOf('posthog', { ...POSTHOG, event })
    expect([user.set['plan'], track]).toEqual(['pro', undefined])
  })

  it.each([
    ['it has no profile', { $process_person_profile: false }],
    ['nobody was identified', { $is_identified: false }],
    ['its id is that of the device', { $device_id: 'ada' }],
  ])('is skipped if %s', (_, properties) => {
    expect(read('posthog', { ...POSTHOG, properties })).toEqual(skipped('anonymous'))
  })
})

describe('an event about groups or ids', () => {
  it.each([
    ['mixpanel', { ...MIXPANEL, event: '$identify' }],
    ['mixpanel', { ...MIXPANEL, event: '$create_alias' }],
    ['mixpanel', { ...MIXPANEL, event: '$merge' }],
    ['amplitude', { ...AMPLITUDE, event_type: '$groupidentify' }],
    ['posthog', { ...POSTHOG, event: '$groupidentify', distinct_id: '$company_5' }],
    ['posthog', { ...POSTHOG, event: '$create_alias' }],
    ['posthog', { ...POSTHOG, event: '$merge_dangerously' }],
  ] as const)('of %s is skipped, because its id may be no user: %j', (format, line) => {
    expect(read(format, line)).toEqual(skipped('automatic'))
  })
})

describe('every format', () => {
  it.each(EXPORT_FORMATS)('%s is recognized, and gives lines that an import accepts', (format) => {
    expect(likelyFormatOf(LINES[format] as never)?.format).toBe(format)
    const { track } = okOf(format, LINES[format])
    expect(checkImportLine(track ?? {}, NOW)).toMatchObject({ outcome: 'ok', line: { type: 'track' } })
  })

  it.each(EXPORT_FORMATS)('%s has one id for an event, and different ones for others', (format) => {
    const idOf = (line: object) => okOf(format, line).track?.['id']
    const texts = JSON.stringify(LINES[format])
    const other = JSON.parse(texts.replaceAll(/ajs-1|hpuDqcvpltpCjBsebtxw|11bdbc7a|018daf23/g, 'x')) as object
    expect(idOf(JSON.parse(texts) as object)).toBe(idOf(LINES[format]))
    expect(idOf(other)).not.toBe(idOf(LINES[format]))
  })

  it.each(EXPORT_FORMATS)('%s refuses what is no object, a time in the future, and a long line', (format) => {
    expect(read(format, '[1]')).toMatchObject(rejected('The line must be a JSON object'))
    expect(read(format, `{"a":"${'x'.repeat(1_048_576)}"}`)).toMatchObject(rejected('at most 1048576 bytes'))
    const later = JSON.stringify(LINES[format])
      .replaceAll(/20(?:15|21|24)-/g, '2030-')
      .replace('1602611311', '2602611311')
    expect(read(format, later)).toMatchObject(rejected('future'))
    expect(read(format, `{"a":${'['.repeat(64)}${']'.repeat(64)}}`)).toMatchObject(rejected('deeper than 64'))
  })

  it('refuses numbers that would be rounded, also in objects as text', () => {
    const id = '{"id":1193046900000000099}'
    const refusedIn = (format: ExportFormat, line: object) =>
      expect(read(format, JSON.stringify(line).replaceAll('"ID"', id))).toMatchObject(rejected('without rounding'))
    refusedIn('segment', { ...SEGMENT, type: 'identify', traits: 'ID' })
    refusedIn('amplitude', { ...AMPLITUDE, user_properties: 'ID' })
    refusedIn('posthog', { ...POSTHOG, person_properties: 'ID' })
    refusedIn('posthog', { ...POSTHOG, person_properties: id })
  })

  it.each([
    ['segment', { ...SEGMENT, messageId: 'ID' }, 'messageId'],
    ['mixpanel', { ...MIXPANEL, properties: { ...MIXPANEL.properties, $insert_id: 'ID' } }, 'properties.$insert_id'],
    ['amplitude', { ...AMPLITUDE, uuid: 'ID' }, 'uuid'],
    ['posthog', { ...POSTHOG, uuid: 'ID' }, 'uuid'],
  ] as const)('%s refuses an id that would be rounded, so that two events do not become one', (format, line, name) => {
    const withId = (id: string) => read(format, JSON.stringify(line).replace('"ID"', id))
    expect(withId('1193046900000000099')).toMatchObject(rejected(`${name} must be a finite number that is kept`))
    expect(withId('1193046900')).toMatchObject({ outcome: 'ok' })
  })

  it.each([
    ['mixpanel', MIXPANEL, 'properties', 'properties'],
    ['mixpanel', PROFILE, '$properties', '$properties'],
    ['amplitude', AMPLITUDE, 'event_properties', 'event_properties'],
    ['amplitude', AMPLITUDE, 'user_properties', 'user_properties'],
    ['posthog', POSTHOG, 'properties', 'properties'],
    ['posthog', POSTHOG, 'person_properties', 'person_properties'],
    ['posthog', POSTHOG, '$set', '$set'],
  ] as const)('checks an object as text like the line: %s %#', (format, line, member, name) => {
    const withText = (text: string) => read(format, { ...line, [member]: text })
    for (const text of ['{"a":"x\\u0000y"}', '{"a":"\\ud800"}', '{"\\u0000":1}'])
      expect(withText(text)).toMatchObject(rejected(`${name} must not contain U+0000`))
    const deep = `${'['.repeat(20_000)}${']'.repeat(20_000)}`
    expect(withText(`{"$insert_id":${deep}}`)).toMatchObject(rejected(`${name} must not be nested deeper`))
    for (const text of ['{', '{"a":1', '{a:1}', "{'a':1}", '{"a":NaN}', '{"a":1}}', ' {"a":1} {}', '{…}'])
      expect(withText(text)).toMatchObject(rejected(`${name} begins with { but is not valid JSON`))
  })

  it('checks the changes of PostHog in its properties, and the properties of its person', () => {
    const text = '{"a":"\\u0000"}'
    const changed = { ...POSTHOG, properties: { $set_once: text } }
    expect(read('posthog', changed)).toMatchObject(rejected('properties.$set_once must not contain U+0000'))
    expect(read('posthog', { ...POSTHOG, properties: { $set: '{"plan":' } })).toMatchObject(
      rejected('properties.$set begins with { but is not valid JSON'),
    )
    const { person_properties: _, ...withoutPerson } = POSTHOG
    const withPerson = { ...withoutPerson, person: { properties: text } }
    expect(read('posthog', withPerson)).toMatchObject(rejected('person.properties must not contain U+0000'))
  })

  it.each(['', 'none', '[1]', 5, null])('takes an object that is %j for none', (value) => {
    expect(okOf('amplitude', { ...AMPLITUDE, user_properties: value }).user.set).toEqual({})
    expect(okOf('posthog', { ...POSTHOG, person_properties: value }).user.set).toEqual({ plan: 'pro' })
  })

  it.each([
    ['0001-01-01 00:00:00.000', '1970-01-01 or later'],
    ['-000001-01-01T00:00:00Z', '1970-01-01 or later'],
    ['1969-12-31T23:59:59Z', '1970-01-01 or later'],
    ['+010000-01-01T00:00:00Z', 'no more than 5 minutes in the future'],
    ['yesterday', 'a date and time'],
  ])('says what is wrong with the time %s: it must be %s', (time, words) => {
    const lines = [
      read('segment', { ...SEGMENT, timestamp: time }),
      read('amplitude', { ...AMPLITUDE, event_time: time }),
      read('posthog', { ...POSTHOG, timestamp: time }),
    ]
    const members = ['timestamp', 'event_time', 'timestamp']
    for (const [nth, member] of members.entries())
      expect(lines[nth]).toMatchObject(rejected(`${member} must be ${words}`))
  })

  it('takes a time of a user before 1970 for none', () => {
    const user_creation_time = '0001-01-01 00:00:00'
    expect(okOf('amplitude', { ...AMPLITUDE, user_creation_time }).user.createdMs).toBeUndefined()
    const $properties = { $created: '+010000-01-01T00:00:00', $last_seen: '0001-01-01T00:00:00' }
    expect(okOf('mixpanel', { ...PROFILE, $properties }).user.atMs).toBeUndefined()
  })

  it('takes none of our own lines for theirs', () => {
    expect(likelyFormatOf({ type: 'track', userName: 'ada', eventName: 'x', occurredAt: 'x', id: '1' })).toBeUndefined()
    expect(likelyFormatOf({ type: 'identify', userId: 'ada', userAttributes: {} })).toBeUndefined()
  })
})
