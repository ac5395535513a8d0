import { beforeAll, describe, expect, it } from 'vitest'
import { callerOf, errorOf, UUID_V7 } from './call.ts'
import { casesOf, describeCases, rowsOf } from './describe-cases.ts'
import { ACCEPTED, rejected } from './senders.ts'
import { OCCURRED_AT, SLACK_MS } from './occurred-at-cases.ts'

const EMOJI = '🎉'

const RECORDED = { expected: { status: 202, body: {} } }
/** Expects 400 naming the member. */
const naming = (member: string) => ({ expected: errorOf(400, expect.stringContaining(member)) })

const by = (userName: unknown) => ({ userName, eventName: 'timed' })
const called = (eventName: unknown) => ({ userName: 'tracked', eventName })

const USER_NAMES = [
  ...casesOf(
    'track',
    [
      ['missing', undefined],
      ['null', null],
      ['empty', ''],
    ],
    by,
    {
      ...naming('userName'),
      bySegment: rejected(400, 'userId or anonymousId must be given'),
    },
  ),
  ...casesOf('track', [['a number', 1]], by, { ...naming('userName'), bySegment: ACCEPTED }),
  // Segment's routes first identify an unknown user.
  ...casesOf('track', [['blank', '  ']], by, { ...naming('userName'), bySegment: rejected(401, 'userId not found') }),
  ...casesOf(
    'track',
    [
      ['true', true],
      ['an array', ['tracked']],
      ['an object', {}],
      ['256 characters', 'x'.repeat(256)],
      ['256 code points', EMOJI.repeat(256)],
    ],
    by,
    naming('userName'),
  ),
  ...casesOf(
    'track',
    [
      ['255 characters', 'x'.repeat(255)],
      ['255 code points', EMOJI.repeat(255)],
    ],
    by,
    RECORDED,
  ),
]

const EVENT_NAMES = [
  ...casesOf(
    'track',
    [
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
    ],
    called,
    naming('eventName'),
  ),
  ...casesOf(
    'track',
    [
      ['1 character', 'x'],
      ['1 digit', '7'],
      ['99 characters', 'x'.repeat(99)],
      ['100 characters', 'x'.repeat(100)],
      ['100 code points, 199 UTF-16 units', `a${EMOJI.repeat(99)}`],
      ['a letter of another script', 'я'],
      ['a digit of another script', '٣'],
      ['letters with marks', 'ซื้อแล้ว'],
      ['__proto__', '__proto__'],
      ['constructor', 'constructor'],
    ],
    called,
    RECORDED,
  ),
]

const NO_LETTER_OR_DIGIT = [' ', '---', '___', '!?.', EMOJI, '\u200b', '\u0301', '❤\ufe0f', '€']
const SYSTEM_EVENTS = [
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
]
const NO_SYSTEM_EVENTS = ['form', 'form shown', 'forms:x', 'xform:x', 'my form:x', 'form :x', 'form_x']

const nested = (levels: number): unknown => (levels === 0 ? 1 : { a: nested(levels - 1) })
const deep = (levels: number) => JSON.parse(`{"a":${'['.repeat(levels)}${']'.repeat(levels)}}`) as unknown
const empty = JSON.stringify({ items: Array.from({ length: 16 }, () => 'x'.repeat(2_000)), rest: '' })
const ofBytes = (bytes: number) => ({ ...JSON.parse(empty), rest: 'x'.repeat(bytes - empty.length) })

const withProperties = (properties: unknown) => ({ userName: 'tracked', eventName: 'timed', properties })
const PROPERTIES = [
  ...casesOf(
    'track',
    [
      ['an empty object', {}],
      ['an empty array, as PHP writes an empty object', []],
      ['every kind of value', { a: null, b: true, c: -1.5e300, d: 'x', e: [1, [2]], f: { g: {} } }],
      ['5 levels', nested(5)],
      ['a name of 100 code points', { [EMOJI.repeat(100)]: 1 }],
      ['a string of 2,048 code points', { a: EMOJI.repeat(2_048) }],
      ['names of traits and members', { constructor: 1, $set: { a: 1 }, userName: 'other', '': 1, 'a.b': 1 }],
      ['the name __proto__', JSON.parse('{"__proto__":{"__proto__":[{"__proto__":1}]}}')],
      ['a personal field that the project does not keep', { phone: '1' }],
      ['null, which is equivalent to absence', null],
    ],
    withProperties,
    RECORDED,
  ),
  // As Segment messages, these are larger than 32 KB.
  ...casesOf('track', [['32,768 bytes', ofBytes(32_768)]], withProperties, { ...RECORDED, bySegment: rejected(413) }),
  ...casesOf('track', [['32,769 bytes', ofBytes(32_769)]], withProperties, {
    ...naming('properties must be at most 32768 bytes'),
    bySegment: rejected(413),
  }),
  ...(
    [
      ['a string', 'x', 'properties must be an object'],
      ['an array', [{}], 'properties must be an object'],
      ['false', false, 'properties must be an object'],
      ['6 levels', nested(6), 'properties.a.a.a.a.a must not'],
      ['6 levels of arrays', { a: [[[[[]]]]] }, 'properties.a[0][0][0][0] must not'],
      ['a name of 101 characters', { items: [1, { ['x'.repeat(101)]: 1 }] }, 'properties.items[1].xxx'],
      ['a name of 101 code points', { [EMOJI.repeat(101)]: 1 }, 'properties.'],
      ['a string of 2,049 characters', { items: [0, 1, 2, { name: 'x'.repeat(2_049) }] }, 'properties.items[3].name '],
      ['a string of 2,049 code points', { a: { b: EMOJI.repeat(2_049) } }, 'properties.a.b '],
      ['a number that is too large', { a: [Infinity] }, 'properties.a[0] must be a finite number'],
      ['an id of 20 digits', { a: { id: 12_345_678_901_234_567_890n } }, 'properties.a.id must be a finite number'],
      ['U+0000 in a value', { a: { b: '\u0000' } }, 'U+0000'],
      ['U+0000 in a name', { a: [{ '\u0000': 1 }] }, 'U+0000'],
      ['a lone surrogate in a value', { a: ['\ud83d'] }, 'surrogates'],
      ['a lone surrogate in a name', { '\udf89': 1 }, 'surrogates'],
      ['too many levels for any body', deep(1_000), 'nested'],
    ] as const
  ).flatMap(([name, value, message]) => casesOf('track', [[name, value]], withProperties, naming(message))),
]

/** Tests the contract, Track event: request body, errors, limits; decisions.md, Track event. */
export function describeTrackBody(): void {
  const { identify, track } = callerOf('EVENTS_ADMIN_P')

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

    describeCases('userName', 'EVENTS', USER_NAMES)
    describeCases('eventName', 'EVENTS', EVENT_NAMES)
    describeCases(
      'eventName: no letter or digit, an empty slug',
      'EVENTS',
      casesOf('track', rowsOf(NO_LETTER_OR_DIGIT), called, naming('eventName')),
    )
    describeCases('eventName: system events', 'EVENTS', [
      ...casesOf('track', rowsOf(SYSTEM_EVENTS), called, naming('eventName')),
      ...casesOf('track', rowsOf(NO_SYSTEM_EVENTS), called, RECORDED),
    ])
    describeCases('properties: a JSON object of at most 32,768 bytes and 5 levels', 'EVENTS', PROPERTIES)
    for (const [title, cases] of OCCURRED_AT) describeCases(title, 'EVENTS', cases)

    it('too many levels for any body, 10,000 of them: 400', async () => {
      const properties = `{"a":${'['.repeat(10_000)}${']'.repeat(10_000)}}`
      const body = `{"userName":"tracked","eventName":"timed","properties":${properties}}`
      expect(await track(body)).toMatchObject(errorOf(400, expect.stringContaining('nested')))
    })

    it('the limit of the whole body still applies: 413', async () => {
      const properties = { items: Array.from({ length: 60 }, () => 'x'.repeat(2_000)) }
      expect(await track(withProperties(properties))).toMatchObject(errorOf(413))
    })

    it('occurredAt null is equivalent to its absence: the current time', async () => {
      const { status, body } = await track({ userName: 'tracked', eventName: 'timed', occurredAt: null })
      expect(status).toBe(202)
      expect(Math.abs(Date.parse(String(body['occurredAt'])) - Date.now())).toBeLessThan(SLACK_MS)
    })
  })
}
