import { describe, expect, it } from 'vitest'
import { callerOf, errorOf, UUID_V5 } from './call.ts'

const EMOJI = '🎉'

/** The contract, Identify user: request body, errors, limits; decisions.md, Identify. */
export function describeIdentifyBody(): void {
  const { identify } = callerOf('SHOP_ADMIN_P')
  const withTraits = (userAttributes: unknown) => identify({ userName: 'identify-body', userAttributes })
  const ok = { status: 200, body: { message: 'ok', userId: expect.stringMatching(UUID_V5) } }

  describe('userName, identify', () => {
    it.each([
      ['missing', {}],
      ['null', { userName: null }],
      ['empty', { userName: '' }],
      ['a blank', { userName: ' ' }],
      ['a tab, a line break, a no-break space', { userName: '\t\n\u00a0\u3000' }],
    ])('%s: 401 userName not found', async (_name, body) => {
      expect(await identify(body)).toMatchObject(errorOf(401, 'userName not found'))
    })

    it.each([
      ['a number', 1],
      ['zero', 0],
      ['false', false],
      ['true', true],
      ['an array', ['ada']],
      ['an empty array', []],
      ['an object', {}],
      ['256 characters', 'x'.repeat(256)],
      ['256 code points', EMOJI.repeat(256)],
      ['256 characters, white space at the end', `x${' '.repeat(255)}`],
    ])('%s: 400', async (_name, userName) => {
      expect(await identify({ userName })).toMatchObject(errorOf(400, expect.stringContaining('userName')))
    })

    it.each([
      ['1 character', 'x'],
      ['254 characters', 'x'.repeat(254)],
      ['255 characters', 'x'.repeat(255)],
      ['255 code points, 510 UTF-16 units', EMOJI.repeat(255)],
      ['an email', 'ada+test@example.org'],
      ['spaces and letters of all kinds', 'Ада Лавлейс 愛'],
      ['__proto__', '__proto__'],
      ['slashes', '../a/b?c#d%'],
    ])('%s: 200', async (_name, userName) => {
      expect(await identify({ userName })).toMatchObject(ok)
    })

    it('is used exactly as given: not trimmed, case kept, not normalized', async () => {
      const names = ['Exact', 'exact', ' Exact', 'Exact ', 'E\u0301xact', '\u00c9xact']
      const ids = await Promise.all(names.map(async (userName) => (await identify({ userName })).body['userId']))
      expect(new Set(ids).size).toBe(names.length)
    })
  })

  describe('success: 200, message ok, userId, and no SDK members', () => {
    it('exactly { message, userId }', async () => {
      const { status, body } = await identify({ userName: 'ada', $deviceInfo: {}, userAttributes: {} })
      expect({ status, body }).toEqual(ok)
    })

    it('userId is always the same, in either environment and with either kind of key', async () => {
      const ids = []
      for (const variable of ['SHOP_ADMIN_P', 'SHOP_ADMIN_T', 'SHOP_ROTATED_ADMIN_P'])
        ids.push((await callerOf(variable).identify({ userName: 'same' })).body['userId'])
      expect(new Set(ids).size).toBe(1)
    })
  })

  describe('null for an optional member is the same as leaving it out', () => {
    it.each([
      { userAttributes: null },
      { $deviceInfo: null },
      { userSignature: null },
      { userAttributes: { $set: null, $setOnce: null, $increment: null, $decrement: null, $unset: null } },
      { $deviceInfo: { $countryCode: null, $timezone: null, $deviceOs: null, $app: null } },
    ])('%j', async (body) => {
      expect(await identify({ userName: 'nulls', ...body })).toMatchObject(ok)
    })
  })

  it.each([1, 'x', true, false, 0, '', [], ['$set']])(
    'userAttributes must be an object: %j gets 400',
    async (userAttributes) => {
      expect(await withTraits(userAttributes)).toMatchObject(errorOf(400, expect.stringContaining('userAttributes')))
    },
  )

  it.each(['$unknown', 'plan', 'set', '$SET', '$append', '__proto__', 'constructor', ''])(
    'unknown $operator %j: 400, also with null',
    async (operator) => {
      for (const value of ['{}', 'null', '1'])
        expect(
          await identify(`{"userName":"ops","userAttributes":{${JSON.stringify(operator)}:${value}}}`),
        ).toMatchObject(errorOf(400))
    },
  )

  it('250 operations over all operators: 200; one more: 400 that names the limit', async () => {
    const many = Object.fromEntries(Array.from({ length: 248 }, (_, index) => [`body_many_${index}`, index]))
    const operations = { $setOnce: many, $increment: { body_number: 1 }, $unset: ['body_trait'] }
    expect(await withTraits(operations)).toMatchObject(ok)
    expect(await withTraits({ ...operations, $unset: ['body_trait', 'body_trait'] })).toMatchObject(
      errorOf(400, expect.stringContaining('at most 250')),
    )
  })

  describe.each(['$set', '$setOnce'])('%s: trait values', (operator) => {
    it.each([
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
    ])('%s: 200', async (_name, value) => {
      expect(await withTraits({ [operator]: { body_trait: value } })).toMatchObject(ok)
    })

    it.each([
      ['a string of 501', 'x'.repeat(501)],
      ['a string of 501 code points', EMOJI.repeat(501)],
      ['a string of 500 and white space, without trimming', `${'x'.repeat(500)} `],
      ['an object', {}],
      ['an object with members', { a: 1 }],
      ['an array of 101', Array.from({ length: 101 }, () => 1)],
      ['an array in an array', [[]]],
      ['an object in an array', [{}]],
      ['an array with a string of 501', ['x'.repeat(501)]],
    ])('%s: 400', async (_name, value) => {
      expect(await withTraits({ [operator]: { body_trait: value } })).toMatchObject(
        errorOf(400, expect.stringContaining('body_trait')),
      )
    })

    it.each(['1e999', '-1e999'])('a number that is not finite (%s): 400', async (number) => {
      expect(
        await identify(`{"userName":"a","userAttributes":{"${operator}":{"body_trait":${number}}}}`),
      ).toMatchObject(errorOf(400))
      expect(
        await identify(`{"userName":"a","userAttributes":{"${operator}":{"body_trait":[${number}]}}}`),
      ).toMatchObject(errorOf(400))
    })

    it.each([1, 'x', true, [], ['a']])('must be an object: %j gets 400', async (operands) => {
      expect(await withTraits({ [operator]: operands })).toMatchObject(errorOf(400, expect.stringContaining(operator)))
    })
  })

  describe.each(['$increment', '$decrement'])('%s: finite numbers', (operator) => {
    it.each([0, 1, -1, 0.5, 1e300])('%d: 200', async (value) => {
      expect(await withTraits({ [operator]: { body_number: value } })).toMatchObject(ok)
    })

    it.each(['1', null, true, [1], {}, ''])('%j: 400', async (value) => {
      expect(await withTraits({ [operator]: { body_number: value } })).toMatchObject(
        errorOf(400, expect.stringContaining('body_number')),
      )
    })

    it('1e999: 400', async () => {
      expect(await identify(`{"userName":"a","userAttributes":{"${operator}":{"a":1e999}}}`)).toMatchObject(
        errorOf(400),
      )
    })

    it.each([1, 'x', [], true])('must be an object: %j gets 400', async (operands) => {
      expect(await withTraits({ [operator]: operands })).toMatchObject(errorOf(400))
    })
  })

  describe('$unset: an array of strings', () => {
    it.each([[[]], [['a']], [['a', 'a', 'never-set']], [['x'.repeat(100)]], [[EMOJI.repeat(100)]]])(
      '%j: 200',
      async (slugs) => {
        expect(await withTraits({ $unset: slugs })).toMatchObject(ok)
      },
    )

    it.each([
      ['a'],
      [{}],
      [{ a: 1 }],
      [1],
      [true],
      [[1]],
      [[null]],
      [[['a']]],
      [['']],
      [['x'.repeat(101)]],
      [[EMOJI.repeat(101)]],
    ])('%j: 400', async (slugs) => {
      expect(await withTraits({ $unset: slugs })).toMatchObject(errorOf(400))
    })
  })

  describe('trait key: 1 to 100 characters, in every operator', () => {
    it.each([
      ['$set', 'x'],
      ['$setOnce', 'x'],
      ['$increment', 1],
      ['$decrement', 1],
    ] as const)('%s', async (operator, value) => {
      const at = (slug: string) => withTraits({ [operator]: { [slug]: value } })
      for (const slug of ['k', 'x'.repeat(99), 'x'.repeat(100), EMOJI.repeat(100)])
        expect(await at(slug)).toMatchObject(ok)
      for (const slug of ['', 'x'.repeat(101), EMOJI.repeat(101), `${'x'.repeat(100)} `])
        expect(await at(slug)).toMatchObject(errorOf(400))
    })
  })

  it('userSignature is not required and not checked for admin identify', async () => {
    expect(await identify({ userName: 'ada', userSignature: 'nonsense' })).toMatchObject(ok)
    expect(await callerOf('SIGNED_ADMIN_P').identify({ userName: 'ada' })).toMatchObject(ok)
  })

  it('an in-app form payload is ignored like any unknown property', async () => {
    expect(await identify({ userName: 'ada', formId: 'nps', nextFeedbackId: 'nps' })).toMatchObject(ok)
  })
}
