import { beforeAll, describe, expect, it } from 'vitest'
import { callerOf, errorOf, UUID_V7 } from './call.ts'

const EMOJI = '🎉'
const MINUTE_MS = 60_000
const DAY_MS = 24 * 60 * MINUTE_MS
/** The time that a request may take without crossing the boundary that its row tests. */
const SLACK_MS = 5_000
const ago = (ms: number) => new Date(Date.now() - ms).toISOString()

/** An instant in the product's format. */
const instant = (text: string) => new Date(Date.parse(text)).toISOString()

/** The contract, Track event: request body, errors, limits; decisions.md, Track event. */
export function describeTrackBody(): void {
  const { identify, track } = callerOf('EVENTS_ADMIN_P')
  const send = (properties: unknown) => track({ userName: 'tracked', eventName: 'timed', properties })
  const at = (occurredAt: unknown) => track({ userName: 'tracked', eventName: 'timed', occurredAt })

  describe('track event: request body', () => {
    beforeAll(async () => {
      for (const userName of ['tracked', 'x'.repeat(255), EMOJI.repeat(255)]) await identify({ userName })
    })

    it('success: 202, exactly the six fields, requestId equal to X-Request-Id', async () => {
      const before = Date.now()
      const { status, headers, body } = await track({ userName: 'tracked', eventName: 'Exactly Six' })
      expect(status).toBe(202)
      expect(body).toEqual({
        requestId: headers['x-request-id'],
        occurredAt: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/),
        newEvent: true,
        triggersEvaluated: true,
        formsQueued: 0,
        message: 'Event recorded.',
      })
      expect(body['requestId']).toMatch(UUID_V7)
      expect(Math.abs(Date.parse(String(body['occurredAt'])) - before), 'the current time').toBeLessThan(SLACK_MS)
    })

    it.each([
      ['missing', undefined],
      ['null', null],
      ['empty', ''],
      ['blank', '  '],
      ['a number', 1],
      ['true', true],
      ['an array', ['tracked']],
      ['an object', {}],
      ['256 characters', 'x'.repeat(256)],
      ['256 code points', EMOJI.repeat(256)],
    ])('userName %s: 400', async (_name, userName) => {
      expect(await track({ userName, eventName: 'timed' })).toMatchObject(
        errorOf(400, expect.stringContaining('userName')),
      )
    })

    it.each(['x'.repeat(255), EMOJI.repeat(255)])('userName of 255 code points: 202', async (userName) => {
      expect((await track({ userName, eventName: 'timed' })).status).toBe(202)
    })

    it.each([
      ['missing', undefined],
      ['null', null],
      ['empty', ''],
      ['a number', 1],
      ['true', true],
      ['an array', ['timed']],
      ['an object', {}],
      ['101 characters', 'x'.repeat(101)],
      ['101 code points', `a${EMOJI.repeat(100)}`],
      ['101 characters without trimming', `${'x'.repeat(100)} `],
    ])('eventName %s: 400', async (_name, eventName) => {
      expect(await track({ userName: 'tracked', eventName })).toMatchObject(
        errorOf(400, expect.stringContaining('eventName')),
      )
    })

    it.each([
      ['1 character', 'x'],
      ['1 digit', '7'],
      ['99 characters', 'x'.repeat(99)],
      ['100 characters', 'x'.repeat(100)],
      ['100 code points, 199 UTF-16 units', `a${EMOJI.repeat(99)}`],
      ['a letter of another script', 'я'],
      ['a digit of another script', '٣'],
      ['__proto__', '__proto__'],
      ['constructor', 'constructor'],
    ])('eventName %s: 202', async (_name, eventName) => {
      expect((await track({ userName: 'tracked', eventName })).status).toBe(202)
    })

    it.each([' ', '---', '___', '!?.', EMOJI, '\u200b', '\u0301', '€'])(
      'no letter or digit, an empty slug: %j gets 400',
      async (eventName) => {
        expect(await track({ userName: 'tracked', eventName })).toMatchObject(
          errorOf(400, expect.stringContaining('eventName')),
        )
      },
    )

    it.each([
      'form:shown',
      'form:',
      'FORM:shown',
      'Form:Shown',
      'fOrM:x',
      ' form:x',
      '\tform:x',
      '\u00a0form:x',
      '  FORM:  ',
      'form:*',
      'form::',
    ])('system event %j: 400', async (eventName) => {
      expect(await track({ userName: 'tracked', eventName })).toMatchObject(
        errorOf(400, expect.stringContaining('eventName')),
      )
    })

    it.each(['form', 'form shown', 'forms:x', 'xform:x', 'my form:x', 'form :x', 'form_x'])(
      'no system event %j: 202',
      async (eventName) => {
        expect((await track({ userName: 'tracked', eventName })).status).toBe(202)
      },
    )

    it('body rules come before 404: an invalid event of an unknown user gets 400', async () => {
      for (const fault of [
        { eventName: '' },
        { eventName: 'form:x' },
        { eventName: '--' },
        { occurredAt: 'x' },
        { properties: 1 },
      ])
        expect((await track({ userName: 'nobody', eventName: 'timed', ...fault })).status).toBe(400)
    })
  })

  describe('properties: a JSON object of at most 32,768 bytes and 5 levels', () => {
    const nested = (levels: number): unknown => (levels === 0 ? 1 : { a: nested(levels - 1) })
    const empty = JSON.stringify({ items: Array.from({ length: 16 }, () => 'x'.repeat(2_000)), rest: '' })
    const ofBytes = (bytes: number) => ({ ...JSON.parse(empty), rest: 'x'.repeat(bytes - empty.length) })

    it.each([
      ['an empty object', {}],
      ['every kind of value', { a: null, b: true, c: -1.5e300, d: 'x', e: [1, [2]], f: { g: {} } }],
      ['5 levels', nested(5)],
      ['a name of 100 code points', { [EMOJI.repeat(100)]: 1 }],
      ['a string of 2,048 code points', { a: EMOJI.repeat(2_048) }],
      ['32,768 bytes', ofBytes(32_768)],
      ['names of traits and members', { constructor: 1, $set: { a: 1 }, userName: 'other', '': 1, 'a.b': 1 }],
      ['a personal field that the project does not keep', { phone: '1' }],
      ['null, which is the same as leaving it out', null],
    ])('%s: 202', async (_name, properties) => {
      expect((await send(properties)).status).toBe(202)
    })

    it('the name __proto__: 202', async () => {
      const properties = '{"__proto__":{"__proto__":[{"__proto__":1}]}}'
      expect((await track(`{"userName":"tracked","eventName":"timed","properties":${properties}}`)).status).toBe(202)
    })

    it.each([
      ['a string', 'x', 'properties must be an object'],
      ['an array', [{}], 'properties must be an object'],
      ['false', false, 'properties must be an object'],
      ['6 levels', nested(6), 'properties.a.a.a.a.a must not'],
      ['6 levels of arrays', { a: [[[[[]]]]] }, 'properties.a[0][0][0][0] must not'],
      ['a name of 101 characters', { items: [1, { ['x'.repeat(101)]: 1 }] }, 'properties.items[1].xxx'],
      ['a name of 101 code points', { [EMOJI.repeat(101)]: 1 }, 'properties.'],
      ['a string of 2,049 characters', { items: [0, 1, 2, { name: 'x'.repeat(2_049) }] }, 'properties.items[3].name '],
      ['a string of 2,049 code points', { a: { b: EMOJI.repeat(2_049) } }, 'properties.a.b '],
      ['32,769 bytes', ofBytes(32_769), 'properties must be at most 32768 bytes'],
    ])('%s: 400, naming the member', async (_name, properties, message) => {
      expect(await send(properties)).toMatchObject(errorOf(400, expect.stringContaining(message)))
    })

    it.each([
      ['a number too large to hold', '{"a":[1e400]}', 'properties.a[0] must be a finite number'],
      ['U+0000 in a value', '{"a":{"b":"\\u0000"}}', 'U+0000'],
      ['U+0000 in a name', '{"a":[{"\\u0000":1}]}', 'U+0000'],
      ['a lone surrogate in a value', '{"a":["\\ud83d"]}', 'surrogates'],
      ['a lone surrogate in a name', '{"\\udf89":1}', 'surrogates'],
      ['too many levels for any body', `{"a":${'['.repeat(10_000)}${']'.repeat(10_000)}}`, 'nested'],
    ])('%s: 400', async (_name, properties, message) => {
      const body = `{"userName":"tracked","eventName":"timed","properties":${properties}}`
      expect(await track(body)).toMatchObject(errorOf(400, expect.stringContaining(message)))
    })

    it('the limit of the whole body stays: 413', async () => {
      expect(await send({ items: Array.from({ length: 60 }, () => 'x'.repeat(2_000)) })).toMatchObject(errorOf(413))
    })
  })

  describe('occurredAt: ISO 8601 with a time zone', () => {
    const today = new Date(Date.now() - 2 * MINUTE_MS).toISOString()
    const minute = today.slice(0, 16)
    const second = today.slice(0, 19)
    const shifted = (minutes: number) =>
      new Date(Date.parse(`${second}Z`) + minutes * MINUTE_MS).toISOString().slice(0, 19)

    it.each([
      ['seconds and Z', `${second}Z`, instant(`${second}Z`)],
      ['no seconds', `${minute}Z`, instant(`${minute}:00Z`)],
      ['a fraction of one digit', `${second}.5Z`, `${second}.500Z`],
      ['milliseconds', `${second}.123Z`, `${second}.123Z`],
      ['more than milliseconds: truncated to milliseconds', `${second}.123999Z`, `${second}.123Z`],
      ['+hh:mm', `${shifted(120)}+02:00`, `${second}.000Z`],
      ['-hh:mm', `${shifted(-330)}-05:30`, `${second}.000Z`],
      ['+hhmm', `${shifted(345)}+0545`, `${second}.000Z`],
      ['+00:00', `${second}+00:00`, `${second}.000Z`],
      ['no seconds, with an offset', `${shifted(60).slice(0, 16)}+01:00`, `${minute}:00.000Z`],
    ])('%s: 202, answered as UTC with milliseconds', async (_name, text, occurredAt) => {
      expect(await at(text)).toMatchObject({ status: 202, body: { occurredAt } })
    })

    it.each([
      ['no time zone', second],
      ['only a date', today.slice(0, 10)],
      ['a date and Z', `${today.slice(0, 10)}Z`],
      ['a space instead of T', `${second.replace('T', ' ')}Z`],
      ['only hours', `${today.slice(0, 13)}Z`],
      ['an offset with only hours', `${second}+01`],
      ['an offset without a sign', `${second}01:00`],
      ['a zone name', `${second} Europe/Berlin`],
      ['RFC 2822', new Date().toUTCString()],
      ['an empty fraction', `${second}.Z`],
      ['month 13', '2026-13-01T00:00:00Z'],
      ['the 31st of a short month', `${today.slice(0, 4)}-06-31T00:00:00Z`],
      ['the 30th of February', `${today.slice(0, 4)}-02-30T00:00:00Z`],
      ['hour 25', `${today.slice(0, 10)}T25:00:00Z`],
      ['minute 60', `${today.slice(0, 10)}T00:60:00Z`],
      ['second 61', `${today.slice(0, 10)}T00:00:61Z`],
      ['a basic format', `${second.replaceAll(/[-:]/g, '')}Z`],
      ['white space before', ` ${second}Z`],
      ['white space after', `${second}Z `],
      ['milliseconds since 1970 as text', String(Date.now())],
      ['empty', ''],
      ['now', 'now'],
      ['a week', '2026-W01-1T00:00:00Z'],
      ['a year of six digits', `+00${second}Z`],
    ])('%s: 400', async (_name, text) => {
      expect(await at(text)).toMatchObject(errorOf(400, expect.stringContaining('occurredAt')))
    })

    it.each([0, 1, Date.now(), true, false, {}, [], [`${second}Z`]])('%j is not a string: 400', async (value) => {
      expect(await at(value)).toMatchObject(errorOf(400, expect.stringContaining('occurredAt')))
    })

    it('null is the same as leaving it out: the current time', async () => {
      const { status, body } = await at(null)
      expect(status).toBe(202)
      expect(Math.abs(Date.parse(String(body['occurredAt'])) - Date.now())).toBeLessThan(SLACK_MS)
    })
  })

  describe('occurredAt: no more than 5 minutes in the future and 365 days in the past', () => {
    it.each([
      ['4:59 in the future', -5 * MINUTE_MS + 1_000, 202],
      ['5:00 in the future: less when it arrives', -5 * MINUTE_MS, 202],
      ['5:00 plus the request time in the future', -5 * MINUTE_MS - SLACK_MS, 400],
      ['a day in the future', -DAY_MS, 400],
      ['364 days back', 364 * DAY_MS, 202],
      ['365 days back, minus the request time', 365 * DAY_MS - SLACK_MS, 202],
      ['365 days and 1 ms back: more when it arrives', 365 * DAY_MS + 1, 400],
      ['366 days back', 366 * DAY_MS, 400],
    ])('%s', async (_name, age, status) => {
      expect((await at(ago(age))).status).toBe(status)
    })
  })

  describe('older than 15 minutes: triggersEvaluated is false', () => {
    const old = 'Event recorded. It is older than 15 minutes, so form triggers were not evaluated.'
    it.each([
      ['15:00 minus the request time', 15 * MINUTE_MS - SLACK_MS, true, 'Event recorded.'],
      ['in the future', -4 * MINUTE_MS, true, 'Event recorded.'],
      ['15:00.001', 15 * MINUTE_MS + 1, false, old],
      ['a day', DAY_MS, false, old],
    ])('%s', async (_name, age, triggersEvaluated, message) => {
      expect(await at(ago(age))).toMatchObject({ status: 202, body: { triggersEvaluated, formsQueued: 0, message } })
    })
  })
}
