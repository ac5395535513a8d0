import { randomBytes } from 'node:crypto'
import { inspect } from 'node:util'
import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { givenKeyRing } from '../test/given-key-ring.ts'
import { sealedWith } from './key-ring.ts'
import { parseKeyRing } from './parse-key-ring.ts'

const [A, B, C] = ['aa', 'bb', 'cc'].map((byte) => byte.repeat(32)) as [string, string, string]

const reasonOf = (text: string) => {
  const parsed = parseKeyRing(text)
  return parsed.outcome === 'invalid' ? parsed.reason : 'none'
}

describe('NEXTVISIT_SECRET_KEY', () => {
  it('is one key, or several with the newest first', () => {
    expect(givenKeyRing(A).keyIds).toHaveLength(1)
    const ring = givenKeyRing(B, A)
    expect(ring.keyIds).toEqual([givenKeyRing(B).newestKeyId, givenKeyRing(A).newestKeyId])
    expect(ring.newestKeyId).toBe(givenKeyRing(B).newestKeyId)
  })

  it('may contain spaces, line ends and either case, which change no id', () => {
    expect(givenKeyRing(` ${A.toUpperCase()} `, `${B}\n`).keyIds).toEqual(givenKeyRing(A, B).keyIds)
  })

  it.each([
    ['', 'key 1 must be 64 hexadecimal characters'],
    [`${A},`, 'key 2 must be 64 hexadecimal characters'],
    [`${A},${B.slice(1)}`, 'key 2 must be 64 hexadecimal characters'],
    [`${A},${B},${'zz'.repeat(32)}`, 'key 3 must be 64 hexadecimal characters'],
    [`${A},${B},${A.toUpperCase()}`, 'key 3 is the same as key 1; remove one'],
  ])('refuses %j by the position of a key', (text, reason) => {
    expect(reasonOf(text)).toBe(reason)
  })

  it('has at most 8 keys', () => {
    const keys = Array.from({ length: 9 }, () => randomBytes(32).toString('hex'))
    expect(givenKeyRing(...keys.slice(1)).keyIds).toHaveLength(8)
    expect(reasonOf(keys.join(','))).toBe('must hold at most 8 keys, but has 9')
  })

  it('never appears in a reason, in a dump of the ring, or in an id', () => {
    fc.assert(
      fc.property(
        fc.array(fc.uint8Array({ minLength: 31, maxLength: 33 }), { minLength: 1, maxLength: 9 }),
        (bytes) => {
          const keys = bytes.map((each) => Buffer.from(each).toString('hex'))
          const parsed = parseKeyRing(keys.join(','))
          const shown = `${inspect(parsed, { depth: null, showHidden: true })} ${JSON.stringify(parsed)}`
          for (const key of keys) for (const part of [key, key.slice(0, 12)]) expect(shown).not.toContain(part)
        },
      ),
    )
  })
})

const aKey = fc.uint8Array({ minLength: 32, maxLength: 32 }).map((bytes) => Buffer.from(bytes).toString('hex'))
const keys = fc.uniqueArray(aKey, { minLength: 1, maxLength: 8 })

describe('a ring', () => {
  it('opens what any of its keys has sealed, and seals with the newest', () => {
    fc.assert(
      fc.property(keys, fc.nat(), fc.uint8Array(), fc.string(), (all, chosen, bytes, context) => {
        const key = all[chosen % all.length] ?? ''
        const sealed = givenKeyRing(key).seal(bytes, context)
        expect(givenKeyRing(...all).open(sealed, context)).toEqual({ outcome: 'opened', bytes: Buffer.from(bytes) })
        expect(sealedWith(givenKeyRing(...all).seal(bytes, context))).toBe(givenKeyRing(all[0] ?? '').newestKeyId)
      }),
    )
  })

  it('names the key that it lacks', () => {
    const sealed = givenKeyRing(A).seal(Buffer.from('text'), 'x')
    expect(givenKeyRing(B, C).open(sealed, 'x')).toEqual({ outcome: 'missing-key', keyId: givenKeyRing(A).newestKeyId })
  })

  it('opens in the same context only', () => {
    const sealed = givenKeyRing(A).seal(Buffer.from('text'), 'signing-secret:acme/shop')
    expect(givenKeyRing(A).open(sealed, 'signing-secret:acme/blog')).toEqual({ outcome: 'damaged' })
  })

  it('opens no changed text', () => {
    const ring = givenKeyRing(A, B)
    const sealed = ring.seal(Buffer.from('a signing secret'), 'x')
    fc.assert(
      fc.property(
        fc.nat(sealed.length - 1),
        fc.string({ minLength: 1, maxLength: 1, unit: 'binary-ascii' }),
        (at, to) => {
          const changed = sealed.slice(0, at) + to + sealed.slice(at + 1)
          fc.pre(changed !== sealed)
          expect(ring.open(changed, 'x').outcome).not.toBe('opened')
        },
      ),
      { numRuns: 2_000 },
    )
    for (const cut of [0, 17, 40, sealed.length - 1])
      expect(ring.open(sealed.slice(0, cut), 'x').outcome).toBe('damaged')
  })

  it('opens no other text for the same bytes', () => {
    const sealed = givenKeyRing(A).seal(Buffer.from('a signing secret'), 'x')
    const digits = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/'
    const at = sealed.length - 2
    const other = `${sealed.slice(0, at)}${digits.charAt(digits.indexOf(sealed.charAt(at)) + 1)}=`
    expect(Buffer.from(other.slice(17), 'base64')).toEqual(Buffer.from(sealed.slice(17), 'base64'))
    expect(givenKeyRing(A).open(other, 'x')).toEqual({ outcome: 'damaged' })
  })

  it('opens no text under the id of another of its keys', () => {
    const ring = givenKeyRing(A, B)
    const [, text] = ring.seal(Buffer.from('text'), 'x').split('.')
    expect(ring.open(`${ring.keyIds[1]}.${text}`, 'x')).toEqual({ outcome: 'damaged' })
  })

  it('seals the same bytes differently each time', () => {
    const ring = givenKeyRing(A)
    const sealed = Array.from({ length: 2_000 }, () => ring.seal(Buffer.from('text'), 'x'))
    expect(new Set(sealed).size).toBe(2_000)
  })
})

it('the id of a key does not change, because stored texts name it', () => {
  expect(givenKeyRing('00'.repeat(32)).newestKeyId).toBe('bffc025b6ceb319a')
})
