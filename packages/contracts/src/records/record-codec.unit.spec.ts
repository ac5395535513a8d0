import { describe, expect, it } from 'vitest'
import { answerGiven, eventTracked, formAnswered, identifyRequested, userErased } from '../../test/fixtures.ts'
import { decodeRecord, encodeRecord, HEADERS, isStorable, openFact } from './record-codec.ts'
import { SealedFormFact, SealedUserFact, UserFact } from './records.ts'
import type { Seal } from './sealed-members.ts'
import type { Sealed } from './user-events.ts'

const decode = (value: string | null, headers: Readonly<Record<string, string>>) =>
  decodeRecord(SealedUserFact, value === null ? null : Buffer.from(value), headers)
const version2 = { [HEADERS.schemaVersion]: '2' }

const open = (bytes: string, context: string) =>
  bytes.startsWith(`${context} `) ? bytes.slice(context.length + 1) : undefined
const seal: Seal = (text, context) => ({ key: '019a4423-5b80-7cc1-8f5d-0c2f6a1b7e44', bytes: `${context} ${text}` })

const options = { source: 'gateway', time: '2026-11-02T10:00:00.000Z' }
const encode = (fact: object) => encodeRecord(fact as UserFact, { ...options, seal })
const inLog = (fact: object) => {
  const { value, headers } = encode(fact)
  const decoded = decode(value, headers)
  if (decoded.outcome !== 'ok') throw new Error(decoded.reason)
  return decoded.fact
}

describe('the record codec', () => {
  it('decodes every record that it encoded', () => {
    const fact = eventTracked()
    const { value, headers } = encode(fact)
    expect(headers).toMatchObject({
      ce_id: fact.id,
      ce_type: 'EventTracked',
      ce_specversion: '1.0',
      'schema-version': '2',
    })
    expect(decode(value, headers)).toEqual({ outcome: 'ok', fact })
  })

  it('keeps a trait named __proto__ as an own property', () => {
    const set = JSON.parse('{"__proto__": 1, "constructor": "x"}') as Record<string, number>
    const opened = openFact(inLog(identifyRequested({ operations: { set } })), open)
    if (opened.outcome !== 'ok' || opened.fact.type !== 'IdentifyRequested') throw new Error('not opened')
    expect(Object.entries(opened.fact.operations.set ?? {})).toEqual([
      ['__proto__', 1],
      ['constructor', 'x'],
    ])
  })

  const whole = encode(eventTracked()).value
  it.each([
    ['a null value', null, version2, 'value is null'],
    ['no headers', whole, {}, 'header schema-version is missing or not a number'],
    ['text that is not JSON', '{"type":', version2, 'value is not JSON'],
    ['JSON that is not an object', '7', version2, 'type is unknown'],
    ['an unknown type', '{"type":"Nonsense"}', version2, 'type is unknown'],
    ['a newer version', whole, { [HEADERS.schemaVersion]: '3' }, /^schema-version 3 is newer/],
    ['an older version', whole, { [HEADERS.schemaVersion]: '1' }, /^schema-version 1 is older/],
    ['a missing member', '{"type":"EventTracked"}', version2, /^id: /],
    ['U+0000', whole.replace('Checkout', 'Check\\u0000out'), version2, /^value holds U\+0000 or a lone surrogate$/],
    [
      'a lone surrogate',
      whole.replace('Checkout', 'Check\\ud800out'),
      version2,
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

  it.each<[string, object, string]>([
    ['a trait', { operations: { set: { canary: {} } } }, 'operations.set.…: '],
    ['a device fact', { device: { $app: 7 } }, 'device.…: '],
    ['an unknown device fact', { device: { canary: 'canary' } }, 'device: has unknown members'],
    ['a list', { operations: { unset: ['plan', 7] } }, 'operations.unset.1: '],
    ['a text', { userName: ['canary'] }, 'userName: '],
  ])('names no word of a caller in the reason, which is kept: %s', (_of, members, reason) => {
    const opened = openFact(inLog({ ...identifyRequested(), ...members }), open)
    expect(opened).toMatchObject({ outcome: 'rejected', reason: expect.stringContaining(reason) })
    expect(JSON.stringify(opened)).not.toContain('canary')
  })

  it('names no property in the reason', () => {
    const opened = openFact(inLog({ ...eventTracked(), properties: 'canary' }), open)
    expect(opened).toMatchObject({ reason: expect.stringMatching(/^properties: (?!.*canary)/) })
  })

  describe('of sealed members', () => {
    it.each([
      identifyRequested({ operations: { set: { plan: 'pro' } }, device: { $app: 'x' } }),
      eventTracked({ properties: { total: 1 } }),
      eventTracked(),
      userErased(),
    ])('reads every fact as it was written', (fact) => {
      expect(openFact(inLog(fact), open)).toEqual({ outcome: 'ok', fact })
    })

    it('leaves no personal member in clear, and the slugs of traits', () => {
      const fact = inLog(identifyRequested({ userName: 'ada', operations: { set: { plan: 'pro', email: 'a@b' } } }))
      expect(fact).not.toHaveProperty('userName')
      expect(fact).not.toHaveProperty('operations')
      expect(fact).not.toHaveProperty('device')
      expect(fact).toMatchObject({ traits: ['plan'] })
      expect(inLog(eventTracked({ properties: { total: 1 } }))).not.toHaveProperty('properties')
    })

    it.each<[string, object, string]>([
      ['an identify that has them in clear', identifyRequested(), 'sealed: '],
      ['an identify without them', { ...inLog(identifyRequested()), sealed: undefined }, 'sealed: '],
      ...[{ userName: 'canary' }, { operations: { set: { canary: 1 } } }, { device: { $app: 'canary' } }].map(
        (member): [string, object, string] => [
          `an identify with its ${Object.keys(member).join()} in clear, too`,
          { ...inLog(identifyRequested()), ...member },
          `${Object.keys(member).join()}: must be sealed`,
        ],
      ),
      ['an event with properties in clear', eventTracked({ properties: { canary: 1 } }), 'properties: must be sealed'],
      ['an answer that has its answers in clear', answerGiven({ answers: { reason: 'canary' } }), 'sealed: '],
      [
        'an answer with its answers in clear, too',
        { ...inLog(answerGiven()), answers: { reason: 'canary' } },
        'answers: must be sealed',
      ],
    ])('rejects %s, and names no value', (_what, fact, reason) => {
      const decoded = decode(JSON.stringify(fact), encode(fact).headers)
      expect(decoded).toMatchObject({ outcome: 'rejected', reason: expect.stringContaining(reason) })
      expect(JSON.stringify(decoded)).not.toContain('canary')
    })

    it.each([identifyRequested(), eventTracked({ properties: { total: 1 } }), answerGiven({ answers: {} })])(
      'writes none of $type without a seal',
      (fact) => {
        expect(() => encodeRecord(fact, options)).toThrow('must be sealed')
      },
    )

    it('seals nothing for an event without properties', () => {
      expect(inLog(eventTracked())).not.toHaveProperty('sealed')
    })

    it('opens in no other record, and for no other user', () => {
      const { sealed } = inLog(eventTracked({ properties: { total: 1 } })) as { sealed: Sealed }
      const rejected = { outcome: 'rejected', reason: expect.stringContaining('sealed') }
      expect(openFact({ ...inLog(eventTracked()), sealed } as SealedUserFact, open)).toEqual(rejected)
    })

    it('of an answer open in the record of its outcome, which has the same id', () => {
      const answer = answerGiven({ language: 'de', answers: { reason: 'slow' } })
      const { answers: _, ...clear } = formAnswered(answer)
      const { sealed } = inLog(answer) as { sealed: Sealed }
      const { value, headers } = encodeRecord({ ...clear, sealed } as SealedFormFact, options)
      const decoded = decodeRecord(SealedFormFact, Buffer.from(value), headers)
      if (decoded.outcome !== 'ok') throw new Error(decoded.reason)
      expect(openFact(decoded.fact, open)).toEqual({ outcome: 'ok', fact: formAnswered(answer) })
      expect(() => encodeRecord(formAnswered(answer), options)).toThrow('must be sealed')
    })

    it('are checked like members in clear', () => {
      const fact = inLog(eventTracked({ properties: { total: '\\u0000' } }))
      const forged = (text: string) => openFact(fact, () => text)
      expect(forged('{"properties":7}')).toMatchObject({ reason: expect.stringContaining('properties') })
      expect(forged('{"properties":{"a":"\\u0000"}}')).toMatchObject({ reason: expect.stringContaining('U+0000') })
      expect(forged('{')).toMatchObject({ outcome: 'rejected' })
      const answer = inLog(answerGiven())
      for (const value of ['{"other":7}', '{"other":"a","more":"b"}', '[["a"]]', 'null', '{}', '1e999'])
        expect(openFact(answer, () => `{"answers":{"canary":${value}}}`)).toEqual({
          outcome: 'rejected',
          reason: 'answers.…: is no value that a slug may have',
        })
    })
  })

  it('accepts an escaped surrogate pair', () => {
    const value = whole.replace('Checkout', '\\ud83d\\ude00')
    expect(decode(value, version2)).toMatchObject({ outcome: 'ok', fact: { eventName: '😀 Completed' } })
  })

  it('finds strings that Postgres cannot store in keys and nested values', () => {
    expect(isStorable({ a: ['x', { b: 'ok' }] })).toBe(true)
    expect(isStorable({ a: ['x', { b: '\u0000' }] })).toBe(false)
    expect(isStorable({ '\ud800': 1 })).toBe(false)
  })
})
