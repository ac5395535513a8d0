import { describe, expect, it } from 'vitest'
import { callerOf, errorOf, UUID_V5 } from './call.ts'
import { casesOf, describeCases, rowsOf } from './describe-cases.ts'
import { ACCEPTED, rejected } from './senders.ts'

const EMOJI = '🎉'
const OK = { expected: { status: 200, body: { message: 'ok', userId: expect.stringMatching(UUID_V5) } } }

/** Expects 400 naming the member. */
const naming = (member: string) => ({ expected: errorOf(400, expect.stringContaining(member)) })
/** Expects 400 naming the member. Segment's routes drop values that no trait can hold. */
const leftOut = (member: string) => ({ ...naming(member), bySegment: ACCEPTED })
const noUserName = { expected: errorOf(401, 'userName not found') }

const named = (userName: unknown) => ({ userName })
const withTraits = (userAttributes: unknown) => ({ userName: 'identify-body', userAttributes })

const many = Object.fromEntries(Array.from({ length: 248 }, (_, index) => [`body_many_${index}`, index]))
const operations = { $setOnce: many, $increment: { body_number: 1 }, $unset: ['body_trait'] }

const USER_NAMES = [
  ...casesOf(
    'identify',
    [
      ['missing', {}],
      ['null', named(null)],
      ['empty', named('')],
    ],
    (body: object) => body,
    {
      ...noUserName,
      bySegment: rejected(400, 'userId or anonymousId must be given'),
    },
  ),
  ...casesOf(
    'identify',
    [
      ['a blank', ' '],
      ['a tab, a line break, a no-break space', '\t\n\u00a0\u3000'],
    ],
    named,
    noUserName,
  ),
  ...casesOf(
    'identify',
    [
      ['a number', 1],
      ['zero', 0],
    ],
    named,
    { ...naming('userName'), bySegment: ACCEPTED },
  ),
  ...casesOf(
    'identify',
    [
      ['false', false],
      ['true', true],
      ['an array', ['ada']],
      ['an empty array', []],
      ['an object', {}],
      ['256 characters', 'x'.repeat(256)],
      ['256 code points', EMOJI.repeat(256)],
      ['256 characters, white space at the end', `x${' '.repeat(255)}`],
    ],
    named,
    naming('userName'),
  ),
  ...casesOf(
    'identify',
    [
      ['1 character', 'x'],
      ['254 characters', 'x'.repeat(254)],
      ['255 characters', 'x'.repeat(255)],
      ['255 code points, 510 UTF-16 units', EMOJI.repeat(255)],
      ['an email', 'ada+test@example.org'],
      ['spaces and letters of all kinds', 'Ада Лавлейс 愛'],
      ['__proto__', '__proto__'],
      ['slashes', '../a/b?c#d%'],
    ],
    named,
    OK,
  ),
]

const MEMBERS = [
  ...casesOf(
    'identify',
    rowsOf([
      { userAttributes: null },
      { $deviceInfo: null },
      { userSignature: null },
      { userAttributes: { $set: null, $setOnce: null, $increment: null, $decrement: null, $unset: null } },
      { userAttributes: [], $deviceInfo: [] },
      { $deviceInfo: { $countryCode: null, $timezone: null, $deviceOs: null, $app: null } },
    ]),
    (body: object) => ({ userName: 'nulls', ...body }),
    OK,
  ),
  ...casesOf(
    'identify',
    rowsOf([1, 'x', true, false, 0, '', [1], ['$set']]).map(
      ([name, value]) => [`userAttributes ${name}`, value] as const,
    ),
    withTraits,
    naming('userAttributes'),
  ),
  ...casesOf(
    'identify',
    ['$unknown', 'plan', 'set', '$SET', '$append', '__proto__', 'constructor', ''].flatMap((operator) =>
      ['{}', 'null', '1'].map((value) => {
        const attributes = `{${JSON.stringify(operator)}:${value}}`
        return [`unknown $operator: ${attributes}`, JSON.parse(attributes) as unknown] as const
      }),
    ),
    withTraits,
    { expected: errorOf(400) },
  ),
  ...casesOf('identify', [['250 operations over all operators', operations]], withTraits, OK),
  ...casesOf(
    'identify',
    [
      ['251 operations', { ...operations, $unset: ['body_trait', 'body_trait'] }],
      ['251 operations of one kind', { $set: { ...many, a: 1, b: 2, c: 3 } }],
    ],
    withTraits,
    naming('at most 250'),
  ),
  ...casesOf(
    'identify',
    [
      ['a userSignature is not checked', { userSignature: 'nonsense' }],
      ['an in-app form payload is ignored like any unknown property', { formId: 'nps', nextFeedbackId: 'nps' }],
    ],
    (body: object) => ({ userName: 'ada', ...body }),
    OK,
  ),
]

const TRAIT_VALUES = [
  ['a string of 499', 'x'.repeat(499)],
  ['a string of 500', 'x'.repeat(500)],
  ['a string of 500 code points, 1,000 UTF-16 units', EMOJI.repeat(500)],
  ['an empty string', ''],
  ['zero', 0],
  ['a negative fraction', -1.5],
  ['the largest number', Number.MAX_VALUE],
  ['true', true],
  ['false', false],
  ['null', null],
  ['an empty array', []],
  ['an array of all kinds', ['x', 1, true, null]],
  ['an array of 100', Array.from({ length: 100 }, () => 1)],
  ['an array with a string of 500', ['x'.repeat(500)]],
] as const

const REFUSED_TRAIT_VALUES = [
  ['a string of 501', 'x'.repeat(501)],
  ['a string of 501 code points', EMOJI.repeat(501)],
  ['a string of 500 and white space, without trimming', `${'x'.repeat(500)} `],
  ['an object', {}],
  ['an object with members', { a: 1 }],
  ['an array of 101', Array.from({ length: 101 }, () => 1)],
  ['an array in an array', [[]]],
  ['an object in an array', [{}]],
  ['an array with a string of 501', ['x'.repeat(501)]],
] as const

const ROUNDED_NUMBERS = [
  ['a number that is not finite', Infinity],
  ['a negative number that is not finite', -Infinity],
  ['an id of 19 digits', 1_193_046_900_000_000_099n],
  ['a negative id of 19 digits', -1_193_046_900_000_000_099n],
  ['the first whole number that a double rounds', 9_007_199_254_740_993n],
] as const

const traitValues = (operator: string) => {
  const at = (value: unknown) => withTraits({ [operator]: { body_trait: value } })
  return [
    ...casesOf('identify', TRAIT_VALUES, at, OK),
    ...casesOf('identify', REFUSED_TRAIT_VALUES, at, leftOut('body_trait')),
    // Segment's routes refuse these, too, since dropping them would be no better than rounding.
    ...casesOf('identify', ROUNDED_NUMBERS, at, naming('body_trait')),
    ...casesOf('identify', ROUNDED_NUMBERS, (value) => at(['x', value]), naming('body_trait')),
    ...casesOf(
      'identify',
      [['an empty array for operands, as PHP writes an empty object', []]],
      (operands) => withTraits({ [operator]: operands }),
      OK,
    ),
    ...casesOf(
      'identify',
      rowsOf([1, 'x', true, ['a']]),
      (operands) => withTraits({ [operator]: operands }),
      leftOut(operator),
    ),
  ]
}

const numbers = (operator: string) => {
  const at = (value: unknown) => withTraits({ [operator]: { body_number: value } })
  return [
    ...casesOf('identify', rowsOf([0, 1, -1, 0.5, 1e300]), at, OK),
    ...casesOf('identify', rowsOf(['1', null, true, [1], {}, '']), at, naming('body_number')),
    ...casesOf('identify', ROUNDED_NUMBERS, at, naming('body_number')),
    ...casesOf('identify', rowsOf([1, 'x', [1], true]), (operands) => withTraits({ [operator]: operands }), {
      expected: errorOf(400),
    }),
  ]
}

const unset = (slugs: unknown) => withTraits({ $unset: slugs })
const UNSET = [
  ...casesOf(
    'identify',
    rowsOf([[], ['a'], ['a', 'a', 'never-set'], ['x'.repeat(100)], [EMOJI.repeat(100)]]),
    unset,
    OK,
  ),
  ...casesOf(
    'identify',
    rowsOf(['a', {}, { a: 1 }, 1, true, [1], [null], [['a']], [''], ['x'.repeat(101)], [EMOJI.repeat(101)]]),
    unset,
    { expected: errorOf(400) },
  ),
]

const traitKeys = ([operator, value]: readonly [string, unknown]) => {
  const at = (slug: string) => withTraits({ [operator]: { [slug]: value } })
  const rows = (slugs: readonly string[]) =>
    slugs.map((slug) => [`${operator} of ${JSON.stringify(slug)}`, slug] as const)
  return [
    ...casesOf('identify', rows(['k', 'x'.repeat(99), 'x'.repeat(100), EMOJI.repeat(100)]), at, OK),
    ...casesOf('identify', rows(['', 'x'.repeat(101), EMOJI.repeat(101), `${'x'.repeat(100)} `]), at, {
      expected: errorOf(400),
      bySegment: ACCEPTED,
    }),
  ]
}

/** Tests the contract, Identify user: request body, errors, limits; decisions.md, Identify. */
export function describeIdentifyBody(): void {
  const { identify } = callerOf('SHOP_ADMIN_P')

  describeCases('userName, identify', 'SHOP', USER_NAMES)
  describeCases('identify: members, and null is equivalent to their absence', 'SHOP', MEMBERS)
  for (const operator of ['$set', '$setOnce']) describeCases(`${operator}: trait values`, 'SHOP', traitValues(operator))
  for (const operator of ['$increment', '$decrement'])
    describeCases(`${operator}: finite numbers`, 'SHOP', numbers(operator))
  describeCases('$unset: an array of strings', 'SHOP', UNSET)
  describeCases(
    'trait key: 1 to 100 characters, in every operator',
    'SHOP',
    (
      [
        ['$set', 'x'],
        ['$setOnce', 'x'],
        ['$increment', 1],
        ['$decrement', 1],
      ] as const
    ).flatMap(traitKeys),
  )

  it('userName is used exactly as given: not trimmed, case kept, not normalized', async () => {
    const names = ['Exact', 'exact', ' Exact', 'Exact ', 'E\u0301xact', '\u00c9xact']
    const ids = await Promise.all(names.map(async (userName) => (await identify({ userName })).body['userId']))
    expect(new Set(ids).size).toBe(names.length)
  })

  describe('success: 200, message ok, userId, and no SDK members', () => {
    it('exactly { message, userId }', async () => {
      const { status, body } = await identify({ userName: 'ada', $deviceInfo: {}, userAttributes: {} })
      expect({ status, body }).toEqual(OK.expected)
    })

    it('userId is always the same, in either environment and with either kind of key', async () => {
      const ids = []
      for (const variable of ['SHOP_ADMIN_P', 'SHOP_ADMIN_T', 'SHOP_ROTATED_ADMIN_P'])
        ids.push((await callerOf(variable).identify({ userName: 'same' })).body['userId'])
      expect(new Set(ids).size).toBe(1)
    })
  })
}
