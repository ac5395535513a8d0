import { DEFAULT_ALLOWED_FIELDS } from '@nextvisit/contracts'
import { describe, expect, it } from 'vitest'
import { parseIdentifyBody } from './identify-body.ts'
import { isCustomSlug } from '../traits/custom-slugs.ts'
import { applyAllowList, applyAllowListToProperties } from './apply-allow-list.ts'

function choose(project: { allowedFields?: string[]; disabledTraits?: string[] }, body: object) {
  const parsed = parseIdentifyBody({ userName: 'ada', ...body })
  if (parsed.outcome !== 'ok') throw new Error('the body must be right')
  const { allowedFields = DEFAULT_ALLOWED_FIELDS, disabledTraits } = project
  return applyAllowList(
    { allowedFields: new Set(allowedFields), disabledTraits: new Set(disabledTraits) },
    parsed.value,
  )
}

const rejected = (text: string) => ({ outcome: 'rejected', message: expect.stringContaining(text) })

describe('the allow-list of a project (decisions.md, Identify: allow-list)', () => {
  it('keeps by default every device field, email and name, and lists other known fields by name only', () => {
    const $set = { email: 'a@b.c', name: 'Ada', phone: '1', birthday: 'x', plan: 'pro' }
    expect(
      choose({}, { userAttributes: { $set, $unset: ['phone', 'gender'] }, $deviceInfo: { $app: 'shop' } }),
    ).toEqual({
      outcome: 'ok',
      changes: [
        { operator: 'set', slug: 'email', value: 'a@b.c' },
        { operator: 'set', slug: 'name', value: 'Ada' },
        { operator: 'set', slug: 'plan', value: 'pro' },
      ],
      device: { $app: 'shop' },
      droppedTraits: [],
      filteredFields: ['phone', 'birthday', 'gender'],
    })
  })

  it('filters device fields from $deviceInfo and from trait operations alike', () => {
    const body = {
      userAttributes: { $set: { $browser: 'Firefox', $deviceOs: 'iOS' } },
      $deviceInfo: { $countryCode: 'de', $app: 'x' },
    }
    expect(choose({ allowedFields: ['$countryCode', '$deviceOs'] }, body)).toMatchObject({
      changes: [],
      device: { $countryCode: 'DE', $deviceOs: 'iOS' },
      filteredFields: ['$browser', '$app'],
    })
  })

  it('checks a device field inside a trait operation even if it is not kept', () => {
    expect(choose({ allowedFields: [] }, { userAttributes: { $set: { $deviceOs: 'BeOS' } } })).toMatchObject(
      rejected('$set.$deviceOs'),
    )
    expect(choose({}, { userAttributes: { $set: { $countryCode: 'XX' } } })).toMatchObject(
      rejected('invalid country passed'),
    )
    expect(choose({}, { userAttributes: { $increment: { $appVersion: 1 } } })).toMatchObject(
      rejected('$increment.$appVersion'),
    )
  })

  it('prefers $deviceInfo to $set to $setOnce', () => {
    const userAttributes = {
      $setOnce: { $app: 'c', $browser: 'c', $sdkVersion: 'c' },
      $set: { $app: 'b', $browser: 'b' },
    }
    expect(choose({}, { userAttributes, $deviceInfo: { $app: 'a' } })).toMatchObject({
      device: { $app: 'a', $browser: 'b', $sdkVersion: 'c' },
    })
  })

  it('drops disabled slugs from every operator (contract, Trait policy)', () => {
    const userAttributes = { $set: { note: 1, plan: 1 }, $increment: { note: 1 }, $unset: ['note'] }
    expect(choose({ disabledTraits: ['note'] }, { userAttributes })).toMatchObject({
      changes: [{ slug: 'plan' }],
      droppedTraits: ['note'],
    })
  })

  it('drops a disabled device field from $deviceInfo and from trait operations alike', () => {
    const body = { userAttributes: { $set: { $browser: 'Firefox' } }, $deviceInfo: { $app: 'shop', $sdkVersion: '1' } }
    expect(choose({ disabledTraits: ['$app', '$browser'] }, body)).toEqual({
      outcome: 'ok',
      changes: [],
      device: { $sdkVersion: '1' },
      droppedTraits: ['$browser', '$app'],
      filteredFields: [],
    })
  })

  it('takes __proto__ and constructor for ordinary custom slugs', () => {
    const body = JSON.parse('{"userAttributes":{"$set":{"__proto__":1,"constructor":2}}}')
    expect(choose({}, body)).toMatchObject({
      changes: [{ slug: '__proto__' }, { slug: 'constructor' }],
      filteredFields: [],
    })
    expect(isCustomSlug('__proto__')).toBe(true)
    expect(isCustomSlug('email')).toBe(false)
  })
})

const keep = (text: string, allowedFields: readonly string[] = DEFAULT_ALLOWED_FIELDS) =>
  applyAllowListToProperties({ allowedFields: new Set(allowedFields) }, JSON.parse(text))

describe('the allow-list on properties of an event (decisions.md, Track event)', () => {
  it('drops known fields at the top level that the project does not keep, and lists their names', () => {
    const text = '{"total":1,"phone":"1","email":"a@b.c","$browser":"x","to":{"phone":"2"},"__proto__":{"gender":"x"}}'
    expect(JSON.stringify(keep(text))).toBe(
      '{"properties":{"total":1,"email":"a@b.c","$browser":"x","to":{"phone":"2"},"__proto__":{"gender":"x"}},"filteredFields":["phone"]}',
    )
    expect(JSON.stringify(keep(text, ['phone']))).toBe(
      '{"properties":{"total":1,"phone":"1","to":{"phone":"2"},"__proto__":{"gender":"x"}},"filteredFields":["email","$browser"]}',
    )
  })

  it('adds no member to the record without properties or without filtered fields', () => {
    expect(applyAllowListToProperties({ allowedFields: new Set() }, undefined)).toStrictEqual({})
    expect(keep('{}')).toStrictEqual({ properties: {} })
    expect(keep('{"phone":1}')).toStrictEqual({ properties: {}, filteredFields: ['phone'] })
    expect(keep('{"phones":1,"Email":2}')).toStrictEqual({ properties: { phones: 1, Email: 2 } })
  })
})
