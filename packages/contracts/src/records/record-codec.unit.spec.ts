import { describe, expect, it } from 'vitest'
import { eventTracked, identifyRequested } from '../../test/fixtures.ts'
import { decodeRecord, encodeRecord, HEADERS, isStorable } from './record-codec.ts'
import { UserFact } from './records.ts'

const encode = (fact: Parameters<typeof encodeRecord>[0]) =>
  encodeRecord(fact, { source: 'gateway', time: '2026-11-02T10:00:00.000Z' })
const decode = (value: string | null, headers: Readonly<Record<string, string>>) =>
  decodeRecord(UserFact, value === null ? null : Buffer.from(value), headers)
const version1 = { [HEADERS.schemaVersion]: '1' }

describe('the record codec', () => {
  it('decodes every record that it encoded', () => {
    const fact = eventTracked()
    const { value, headers } = encode(fact)
    expect(headers).toMatchObject({
      ce_id: fact.id,
      ce_type: 'EventTracked',
      ce_specversion: '1.0',
      'schema-version': '1',
    })
    expect(decode(value, headers)).toEqual({ outcome: 'ok', fact })
  })

  it('keeps a trait named __proto__ as an own property', () => {
    const set = JSON.parse('{"__proto__": 1, "constructor": "x"}') as Record<string, number>
    const { value, headers } = encode(identifyRequested({ operations: { set } }))
    const decoded = decode(value, headers)
    if (decoded.outcome !== 'ok' || decoded.fact.type !== 'IdentifyRequested') throw new Error('not decoded')
    expect(Object.entries(decoded.fact.operations.set ?? {})).toEqual([
      ['__proto__', 1],
      ['constructor', 'x'],
    ])
  })

  const whole = encode(eventTracked()).value
  it.each([
    ['a null value', null, version1, 'value is null'],
    ['no headers', whole, {}, 'header schema-version is missing or not a number'],
    ['text that is not JSON', '{"type":', version1, 'value is not JSON'],
    ['JSON that is not an object', '7', version1, 'type is unknown'],
    ['an unknown type', '{"type":"Nonsense"}', version1, 'type is unknown'],
    ['a newer version', whole, { [HEADERS.schemaVersion]: '2' }, /^schema-version 2 is newer/],
    ['a missing member', '{"type":"EventTracked"}', version1, /^id: /],
    ['U+0000', whole.replace('Checkout', 'Check\\u0000out'), version1, /^value holds U\+0000 or a lone surrogate$/],
    [
      'a lone surrogate',
      whole.replace('Checkout', 'Check\\ud800out'),
      version1,
      /^value holds U\+0000 or a lone surrogate$/,
    ],
  ])('rejects %s and gives the reason', (_name, value, headers, reason) => {
    const decoded = decode(value, headers)
    expect(decoded).toMatchObject({
      outcome: 'rejected',
      reason: expect.stringMatching(reason),
    })
  })

  it.each([
    ['texts', 'registeredTraits', 1],
    ['checks', 'unchecked', 'x'],
    ['hashes', 'countsFor', null],
  ])('reports one invalid item of a list of %s, however many it has', (_name, member, item) => {
    const list = Array.from({ length: 1_000 }, () => item)
    const fact = member === 'registeredTraits' ? identifyRequested() : eventTracked()
    const parsed = UserFact.safeParse({ ...fact, [member]: list })
    expect(parsed.error?.issues).toMatchObject([{ path: [member, 0] }])
  })

  it('reports one issue of device facts, however many they are', () => {
    const device = Object.fromEntries(Array.from({ length: 1_000 }, (_, nth) => [`$x${nth}`, 1]))
    expect(UserFact.safeParse({ ...identifyRequested(), device }).error?.issues).toMatchObject([{ path: ['device'] }])
    expect(UserFact.safeParse({ ...identifyRequested(), device: { $app: 1 } }).success).toBe(false)
    expect(UserFact.safeParse({ ...identifyRequested(), device: { app: 'x' } }).success).toBe(false)
    expect(UserFact.safeParse({ ...identifyRequested(), device: 'x' }).success).toBe(false)
  })

  it('cuts the name of a member in the reason, by which dead letters are grouped and listed', () => {
    const set = { ['a'.repeat(100_000)]: {} }
    const { value, headers } = encode(identifyRequested({ operations: { set } as never }))
    const decoded = decode(value, headers)
    expect(decoded).toMatchObject({ reason: expect.stringMatching(/^operations\.set\.a{100}…: /) })
  })

  it('accepts an escaped surrogate pair', () => {
    const value = whole.replace('Checkout', '\\ud83d\\ude00')
    expect(decode(value, version1)).toMatchObject({ outcome: 'ok', fact: { eventName: '😀 Completed' } })
  })

  it('finds strings that Postgres cannot store in keys and nested values', () => {
    expect(isStorable({ a: ['x', { b: 'ok' }] })).toBe(true)
    expect(isStorable({ a: ['x', { b: '\u0000' }] })).toBe(false)
    expect(isStorable({ '\ud800': 1 })).toBe(false)
  })
})
