import { DEVICE_FIELDS } from '@nextvisit/contracts'
import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { toTraitOperations } from '../traits/trait-operators.ts'
import { parseIdentifyBody, parseVisitBody, parseVisitJson } from './identify-body.ts'

/** Bodies as callers send them: through JSON.parse, so that `__proto__` is an own property. */
const parse = (json: unknown) => parseIdentifyBody(JSON.parse(typeof json === 'string' ? json : JSON.stringify(json)))
const withSet = (traits: unknown) => parse({ userName: 'ada', userAttributes: { $set: traits } })
const visit = (body: object) => parseVisitBody(JSON.parse(JSON.stringify({ userName: 'ada', ...body })))
const device = ($deviceInfo: unknown) => parse({ userName: 'ada', $deviceInfo })
const nested = (levels: number) => `${'['.repeat(levels)}${']'.repeat(levels)}`
const text = (member: unknown) => JSON.stringify(member ?? {})
const slugs = (count: number) => Array.from({ length: count }, (_, index) => `trait ${index}`)
const operands = (count: number) => Object.fromEntries(slugs(count).map((slug, index) => [slug, index]))
const rejected = (words: string) => ({
  outcome: 'rejected',
  message: expect.stringContaining(words),
})

describe('userName (decisions.md, Identify)', () => {
  it.each([{}, { userName: null }, { userName: '' }, { userName: ' \t\n\u3000' }])(
    'is refused as not found for the body %j',
    (body) => {
      expect(parse(body)).toMatchObject({ outcome: 'rejected', reason: 'noUserName', message: 'userName not found' })
    },
  )

  it.each([1, true, {}, [[]], 'a'.repeat(256), '😀'.repeat(256)])(
    'is of no other type, nor longer than 255',
    (userName) => {
      expect(parse({ userName })).toMatchObject(rejected('userName'))
    },
  )

  it.each([' Ada ', 'a'.repeat(255), '😀'.repeat(255), '__proto__'])('is taken exactly as given: %s', (userName) => {
    expect(parse({ userName })).toMatchObject({ outcome: 'ok', value: { userName } })
  })

  it('is checked before the rest of the body', () => {
    expect(parse({ userAttributes: 1 })).toMatchObject({ reason: 'noUserName' })
  })
})

describe('userAttributes (decisions.md, Identify: trait values, slugs)', () => {
  it.each([
    { $set: operands(250) },
    { $unset: slugs(250) },
    {
      $set: operands(50),
      $setOnce: operands(50),
      $increment: operands(50),
      $decrement: operands(50),
      $unset: slugs(50),
    },
  ])('holds at most 250 operations over all operators', (userAttributes) => {
    expect(parse({ userName: 'ada', userAttributes })).toMatchObject({ outcome: 'ok' })
    const more = { ...userAttributes, $unset: [...(userAttributes.$unset ?? []), 'one'] }
    expect(parse({ userName: 'ada', userAttributes: more })).toMatchObject(rejected('at most 250 operations'))
  })

  it.each([
    'text',
    'a'.repeat(500),
    '😀'.repeat(500),
    '',
    0,
    -1.5,
    true,
    null,
    [],
    ['a', 1, false, null],
    Array.from({ length: 100 }, () => 1),
  ])('takes the value %j', (value) => {
    expect(withSet({ plan: value })).toMatchObject({
      outcome: 'ok',
      value: { changes: [{ operator: 'set', slug: 'plan', value }] },
    })
  })

  it.each([
    [{}, 'must be a string, a finite number'],
    ['a'.repeat(501), 'at most 500'],
    ['😀'.repeat(501), 'at most 500'],
    [['a'.repeat(501)], 'at most 500'],
    [[[]], 'array of strings, numbers'],
    [[{}], 'must be a string, a finite number'],
    [Array.from({ length: 101 }, () => 1), 'at most 100'],
  ])('refuses an invalid value, and names the member', (value, message) => {
    expect(withSet({ plan: value })).toMatchObject(rejected('userAttributes.$set.plan'))
    expect(withSet({ plan: value })).toMatchObject(rejected(message))
  })

  it('refuses numbers that are not finite', () => {
    const json = '{"userName":"ada","userAttributes":{"$set":{"n":1e400}}}'
    expect(parse(json)).toMatchObject(rejected('finite'))
    expect(parse(json.replace('$set', '$increment'))).toMatchObject(rejected('finite'))
  })

  it.each(['1', null, true, [1]])('$increment and $decrement take numbers only, not %j', (value) => {
    expect(parse({ userName: 'ada', userAttributes: { $increment: { n: value } } })).toMatchObject(
      rejected('$increment.n'),
    )
    expect(parse({ userName: 'ada', userAttributes: { $decrement: { n: value } } })).toMatchObject(
      rejected('$decrement.n'),
    )
  })

  it.each(['', 'a'.repeat(101), '😀'.repeat(101)])('refuses a slug that is not 1 to 100 characters', (slug) => {
    expect(withSet({ [slug]: 1 })).toMatchObject(rejected('1 to 100'))
    expect(parse({ userName: 'ada', userAttributes: { $unset: [slug] } })).toMatchObject(rejected('1 to 100'))
  })

  it.each(['a'.repeat(100), '😀'.repeat(100), ' ', '$x'])('takes any slug of 1 to 100 characters: %s', (slug) => {
    expect(withSet({ [slug]: 1 })).toMatchObject({ outcome: 'ok' })
  })

  it.each([
    { $push: { a: 1 } },
    { $push: null },
    { plan: 'pro' },
    { __proto: 1 },
    { $set: [1] },
    { $set: 'a' },
    { $unset: {} },
    { $unset: [1] },
    [1],
    'a',
  ])('refuses unknown operators and operands of the wrong kind: %j', (userAttributes) => {
    expect(parse({ userName: 'ada', userAttributes })).toMatchObject(rejected('userAttributes'))
  })

  it('treats an empty array as an empty object, as PHP writes it', () => {
    const nothing = { outcome: 'ok', value: { changes: [], device: {} } }
    for (const userAttributes of [[], { $set: [], $setOnce: [], $increment: [], $decrement: [] }])
      expect(parse({ userName: 'ada', userAttributes, $deviceInfo: [] })).toMatchObject(nothing)
  })

  it('treats null as absent (decisions.md, Words)', () => {
    const body = {
      userName: 'ada',
      userAttributes: { $set: null, $unset: null },
      $deviceInfo: null,
      userSignature: null,
    }
    expect(parse(body)).toMatchObject({ outcome: 'ok', value: { changes: [], device: {} } })
    expect(parse({ userName: 'ada', userAttributes: null })).toMatchObject({ outcome: 'ok' })
  })

  it('keeps the order of the parsed object (decisions.md, Identify: unique-traits cap)', () => {
    const parsed = parse('{"userName":"ada","userAttributes":{"$setOnce":{"b":1,"a":1},"$set":{"c":1},"$unset":["d"]}}')
    expect(parsed).toMatchObject({
      outcome: 'ok',
      value: { changes: [{ slug: 'b' }, { slug: 'a' }, { slug: 'c' }, { slug: 'd' }] },
    })
  })

  it('carries every slug and value to the record unchanged, __proto__ included', () => {
    const slug = fc.oneof(
      fc.constantFrom('__proto__', 'constructor', 'toString', 'hasOwnProperty'),
      fc.string({ minLength: 1, maxLength: 20 }),
    )
    const scalar = fc.oneof(
      fc.string(),
      fc.double({ noNaN: true, noDefaultInfinity: true }),
      fc.boolean(),
      fc.constant(null),
    )
    const values = fc.array(fc.tuple(slug, fc.oneof(scalar, fc.array(scalar))))
    const numbers = fc.array(fc.tuple(slug, fc.integer()))
    fc.assert(
      fc.property(values, values, numbers, fc.array(slug), (set, setOnce, increment, unset) => {
        const attributes = {
          $set: Object.fromEntries(set),
          $setOnce: Object.fromEntries(setOnce),
          $increment: Object.fromEntries(increment),
          $unset: unset,
        }
        const parsed = parse({ userName: 'ada', userAttributes: attributes })
        if (parsed.outcome !== 'ok') throw new Error(parsed.message)
        const operations = toTraitOperations(parsed.value.changes)
        expect(text(operations.set)).toBe(JSON.stringify(attributes.$set))
        expect(text(operations.setOnce)).toBe(JSON.stringify(attributes.$setOnce))
        expect(text(operations.increment)).toBe(JSON.stringify(attributes.$increment))
        expect(operations.unset ?? []).toEqual(unset)
        expect(Object.getPrototypeOf({})).toBe(Object.prototype)
      }),
    )
  })
})

describe('$deviceInfo (contract, Device info object; decisions.md, Identify)', () => {
  it.each(['DE', 'de', 'dE'])('holds the country %s in upper case', ($countryCode) => {
    expect(device({ $countryCode })).toMatchObject({ value: { device: { $countryCode: 'DE' } } })
  })

  it.each(['XX', 'XK', 'EU', 'DEU', '', 'D', 'ß', 49, {}, 'DE '])('is refused for the country %j', ($countryCode) => {
    expect(device({ $countryCode })).toMatchObject({ reason: 'country', message: 'invalid country passed' })
  })

  it.each(['Europe/Berlin', 'UTC', 'Etc/GMT+5', 'America/Argentina/Buenos_Aires'])(
    'takes the time zone %s',
    ($timezone) => {
      expect(device({ $timezone })).toMatchObject({ outcome: 'ok', value: { device: { $timezone } } })
    },
  )

  it.each(['+01:00', '-0500', 'Mars/Olympus', '', 1])('refuses the time zone %j', ($timezone) => {
    expect(device({ $timezone })).toMatchObject(rejected('$deviceInfo.$timezone'))
  })

  it.each([
    ['$deviceOs', 'iOS', 'ios'],
    ['$deviceType', 'web', 'Web'],
    ['$deviceSize', 'tablet', 'phone'],
    ['$preferredTheme', 'dark', ''],
  ])('takes for %s only values of its table', (field, right, wrong) => {
    expect(device({ [field]: right })).toMatchObject({ value: { device: { [field]: right } } })
    expect(device({ [field]: wrong })).toMatchObject(rejected(`$deviceInfo.${field} must be one of`))
  })

  it('refuses a value that is not a string, and names the member', () => {
    for (const field of DEVICE_FIELDS.filter((name) => name !== '$countryCode'))
      expect(device({ [field]: 1 })).toMatchObject(rejected(`$deviceInfo.${field}`))
  })

  it('drops unknown members, and treats null as absent', () => {
    const parsed = device({ $app: 'shop', $battery: 1, other: {}, $browser: null })
    expect(parsed).toMatchObject({ outcome: 'ok', value: { device: { $app: 'shop' } } })
    expect(parsed).not.toMatchObject({ value: { device: { $browser: null } } })
  })

  it.each([{ info: ['x'] }, { info: 'x' }, { info: 1 }])('must be an object: %j', ({ info }) => {
    expect(device(info)).toMatchObject(rejected('$deviceInfo'))
  })
})

describe('the device facts of a visit (decisions.md, Identify)', () => {
  it('are dropped where they are invalid, and named', () => {
    const $deviceInfo = {
      $timezone: 'Etc/Unknown',
      $countryCode: 'XX',
      $deviceOs: 'Linux',
      $app: 7,
      $browser: 'x',
      $no: 1,
    }
    expect(visit({ $deviceInfo, userAttributes: { $set: { plan: 'pro' } } })).toMatchObject({
      outcome: 'ok',
      value: {
        device: { $browser: 'x' },
        changes: [{ slug: 'plan', value: 'pro' }],
        invalidDeviceFields: ['$countryCode', '$timezone', '$deviceOs', '$app'],
      },
    })
  })

  it.each(['x', 7, true, ['x']])('are none if $deviceInfo is %j', ($deviceInfo) => {
    expect(visit({ $deviceInfo })).toMatchObject({ value: { device: {}, invalidDeviceFields: ['$deviceInfo'] } })
  })

  it('are dropped in every operator of traits', () => {
    const userAttributes = {
      $set: { $timezone: 'Etc/Unknown', $app: 'shop', plan: 'pro' },
      $setOnce: { $deviceType: ['web'], $browser: null },
      $increment: { $deviceId: 1 },
      $decrement: { logins: 1 },
      $unset: ['$deviceOs'],
    }
    const parsed = visit({ userAttributes })
    expect(parsed).toMatchObject({ value: { invalidDeviceFields: ['$timezone', '$deviceType', '$deviceId'] } })
    const kept = parsed.outcome === 'ok' ? parsed.value.changes.map(({ slug }) => slug) : []
    expect(kept).toEqual(['$app', 'plan', '$browser', 'logins', '$deviceOs'])
  })

  it.each([
    ['$timezone', '{"$set":{"plan":"pro","$timezone":{}}}'],
    ['$browser', `{"$set":{"plan":"pro","$browser":"${'x'.repeat(501)}"}}`],
    ['$browser', '{"$setOnce":{"$browser":[[1]]},"$set":{"plan":"pro"}}'],
    ['$browser', '{"$increment":{"$browser":"x"},"$set":{"plan":"pro"}}'],
    ['$appVersion', '{"$set":{"$appVersion":1e999,"plan":"pro"}}'],
    ['$browser', '{"$set":{"$browser":"\\u0000","plan":"pro"}}'],
    ['$browser', '{"$decrement":{"$browser":["\\ud800"]},"$set":{"plan":"pro"}}'],
  ])('are dropped where no trait could have the operand: %s of %s', (field, userAttributes) => {
    const json = `{"userName":"ada","userAttributes":${userAttributes}}`
    const read = parseVisitJson(Buffer.from(json))
    expect(read.outcome === 'ok' && parseVisitBody(read.body)).toMatchObject({
      value: { changes: [{ slug: 'plan', value: 'pro' }], invalidDeviceFields: [field] },
    })
  })

  it.each(['$set', '$setOnce', '$increment', '$decrement'])('refuse an identify, and are named: %s', (operator) => {
    const userAttributes = { [operator]: { $browser: {} } }
    expect(parse({ userName: 'ada', userAttributes })).toMatchObject(
      rejected(`userAttributes.${operator}.$browser must`),
    )
  })

  it.each([
    ['{"$browser":"\\ud800","$app":"shop"}', ['$browser']],
    ['{"$app":"shop","$new":"\\u0000","\\u0000":1}', []],
  ])('are dropped if they cannot be stored: %s', ($deviceInfo, invalidDeviceFields) => {
    const read = parseVisitJson(Buffer.from(`{"userName":"ada","$deviceInfo":${$deviceInfo}}`))
    expect(read.outcome === 'ok' && parseVisitBody(read.body)).toMatchObject({
      value: { device: { $app: 'shop' }, invalidDeviceFields },
    })
  })

  it.each([
    ['$deviceInfo', `"$deviceInfo":{"$browser":${nested(62)},"$app":"shop"}`],
    ['an operator', `"$deviceInfo":{"$app":"shop"},"userAttributes":{"$set":{"$browser":${nested(61)}}}`],
  ])('are dropped if they are nested deeply: in %s', (_, members) => {
    const read = parseVisitJson(Buffer.from(`{"userName":"ada",${members}}`))
    expect(read.outcome === 'ok' && parseVisitBody(read.body)).toMatchObject({
      value: { device: { $app: 'shop' }, invalidDeviceFields: ['$browser'] },
    })
  })

  it.each([
    `"more":${nested(8)}`,
    `"userAttributes":{"$set":{"plan":${nested(6)}}}`,
    `"userAttributes":{"$unset":${nested(7)}}`,
    `"userAttributes":${nested(8)}`,
    `"$deviceInfo":{"$browser":${nested(63)}}`,
    `"$deviceInfo":${nested(40_000)}`,
  ])('leave the depth of all other members of a visit checked %#', (member) => {
    expect(parseVisitJson(Buffer.from(`{${member}}`))).toMatchObject(rejected('nested deeper'))
  })

  it.each([
    '"userName":"\\u0000"',
    '"more":"\\ud800"',
    '"userAttributes":{"$set":{"plan":"\\u0000"}}',
    '"userAttributes":{"$set":{"\\u0000":1}}',
    '"userAttributes":{"$unset":["\\u0000"]}',
    '"userAttributes":"\\u0000"',
    '"userAttributes":{"\\u0000":{}}',
  ])('leave all other strings of a visit checked: %s', (member) => {
    expect(parseVisitJson(Buffer.from(`{${member}}`))).toMatchObject(rejected('U+0000'))
  })

  it('are the only part of a visit that is not refused', () => {
    for (const userAttributes of [{ $set: { plan: {} } }, { $push: {} }, 'x', { $increment: { logins: 'x' } }])
      expect(visit({ userAttributes, $deviceInfo: 'x' }).outcome).toBe('rejected')
  })
})
