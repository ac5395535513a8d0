import { generateKeyPairSync } from 'node:crypto'
import { isDeepStrictEqual } from 'node:util'
import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { givenKeyRing } from '../test/given-key-ring.ts'
import {
  createInstallationKeys,
  createSuppressionHash,
  InstallationKeyError,
  openReceiptSecret,
  resealInstallationKeys,
} from './installation-keys.ts'
import { signReceipt, verifyReceipt } from './receipt-signature.ts'

const A = 'aa'.repeat(32)
const B = 'bb'.repeat(32)
const STORES = [1_000_000, 1_000_000, 1_000_000].map((rows) => ({ store: 'metering', rows }))
const RECEIPT = {
  version: 1,
  erasureId: 'e1',
  unknown: 0,
  users: [{ userId: 'u1', offset: '12', keyCount: 1_000 }],
  stores: STORES,
  notCovered: ['Exported files, "backups", \\ and \u00e9.'],
}

function givenReceipt() {
  const { privateKey } = generateKeyPairSync('ed25519')
  return signReceipt(RECEIPT, privateKey)
}

/** Other JSON spellings of a number or string, which parse to the same value. */
function respellings(literal: string): readonly string[] {
  if (literal.startsWith('"')) {
    const inner = literal.slice(1, -1)
    return [...inner.matchAll(/\\.|[^\\]/gsu)].map(({ 0: shown, index }) => {
      const value: string = JSON.parse(`"${shown}"`)
      const escape = `\\u${value.charCodeAt(0).toString(16).padStart(4, '0')}`
      return `"${inner.slice(0, index)}${escape}${inner.slice(index + shown.length)}"`
    })
  }
  const shifts = [-3, -2, -1, 1, 2, 3, 6].map((shift) => `${Number(literal) / 10 ** shift}e${shift}`)
  const exponents = [Number(literal).toExponential(), Number(literal).toExponential().replace('e+', 'e')]
  const all = [...shifts, ...exponents, ...exponents.map((one) => one.toUpperCase()), `${literal}.0`, `${literal}E0`]
  return literal === '0' ? [...all, '-0'] : all
}

/** Whether a text is the receipt with other spaces between its members. */
function isSpaced(text: string, receipt: object): boolean {
  try {
    return isDeepStrictEqual(JSON.parse(text), receipt)
  } catch {
    return false
  }
}

describe('a receipt', () => {
  it('is verified by the key in it', () => {
    const receipt = givenReceipt()
    expect(verifyReceipt(JSON.stringify(receipt))).toEqual({ outcome: 'valid', receipt })
    expect(verifyReceipt(JSON.stringify(receipt), receipt.publicKey)).toMatchObject({ outcome: 'valid' })
  })

  it('is valid with other spaces, and with its members in another order', () => {
    const { version, ...others } = givenReceipt()
    expect(verifyReceipt(`${JSON.stringify({ ...others, version }, null, 2)}\n`)).toMatchObject({ outcome: 'valid' })
  })

  it('is invalid for another key', () => {
    const text = JSON.stringify(givenReceipt())
    expect(verifyReceipt(text, givenReceipt().publicKey)).toMatchObject({ outcome: 'invalid' })
  })

  it('is invalid after any change of a character, except of spaces between members', () => {
    const receipt = givenReceipt()
    const text = JSON.stringify(receipt)
    const edit = fc.constantFrom('replace', 'insert')
    fc.assert(
      fc.property(fc.nat(text.length - 1), edit, fc.string({ minLength: 1, maxLength: 1 }), (at, kind, to) => {
        const changed = text.slice(0, at) + to + text.slice(kind === 'insert' ? at : at + 1)
        fc.pre(changed !== text && !(kind === 'insert' && /\s/.test(to) && isSpaced(changed, receipt)))
        expect(verifyReceipt(changed).outcome).toBe('invalid')
      }),
      { numRuns: 3_000 },
    )
    for (let at = 0; at < text.length; at++)
      expect(verifyReceipt(text.slice(0, at) + text.slice(at + 1)).outcome).toBe('invalid')
  })

  it('is invalid with another spelling of any number or string', () => {
    const text = JSON.stringify(givenReceipt())
    let respelt = 0
    for (const { 0: literal, index } of text.matchAll(/"(?:[^"\\]|\\.)*"|\d+/g))
      for (const other of respellings(literal)) {
        if (other === literal) continue
        const changed = text.slice(0, index) + other + text.slice(index + literal.length)
        expect(JSON.stringify(JSON.parse(changed)), `${other} for ${literal}`).toBe(text)
        expect(verifyReceipt(changed).outcome, `${other} for ${literal}`).toBe('invalid')
        respelt += 1
      }
    expect(respelt).toBeGreaterThan(300)
  })

  it('is invalid with any member twice, also if shorter numbers make room for it', () => {
    const text = JSON.stringify(givenReceipt())
    for (const { 0: member, index } of text.matchAll(/"\w+":(?=("[^"]*"|\d+))/g))
      for (const value of ['0', '""', 'null', '{}', '[]', '1000', '"e1"', '1'])
        expect(verifyReceipt(`${text.slice(0, index)}${member}${value},${text.slice(index)}`).outcome).toBe('invalid')
    const roomy = text.replaceAll('1000000', '1e6').replace('"unknown":0', '"unknown":9,"unknown":0')
    expect(roomy).toHaveLength(text.length)
    expect(verifyReceipt(roomy).outcome).toBe('invalid')
    for (const start of ['{"version":2,', '{"completedAt":"2026-11-02T10:00:00.000Z",', '{"__proto__":{},'])
      expect(verifyReceipt(text.replace('{', start)).outcome).toBe('invalid')
  })

  it('is invalid if it is not an object with a key and a signature', () => {
    const { signature: _, ...unsigned } = givenReceipt()
    for (const text of ['', '[]', 'null', '{}', '{"publicKey":1}', JSON.stringify(unsigned)])
      expect(verifyReceipt(text).outcome).toBe('invalid')
  })
})

it('a receipt with members nested deeper than the stack is invalid', () => {
  const [depth, text] = [100_000, JSON.stringify(givenReceipt())]
  const deep = `{"x":${'['.repeat(depth)}${']'.repeat(depth)},${text.slice(1)}`
  expect(verifyReceipt(deep)).toEqual({ outcome: 'invalid', reason: 'it is nested too deeply' })
})

it.each(['x', String.raw`\\`])('a text with a string of 50 MB of %s is not nested too deeply', (part) => {
  const text = `{"a":"${part.repeat(50e6 / part.length)}"}`
  expect(verifyReceipt(text)).toEqual({ outcome: 'invalid', reason: 'it lacks publicKey or signature' })
})

it('a receipt is invalid if its key has other characters than base64url', () => {
  const receipt = givenReceipt()
  for (const publicKey of [`${receipt.publicKey}=`, `${receipt.publicKey}\u001b[2K`, receipt.publicKey.slice(1)])
    expect(verifyReceipt(JSON.stringify({ ...receipt, publicKey }))).toMatchObject({
      reason: 'its publicKey is not an Ed25519 key',
    })
})

describe('the keys of an installation', () => {
  it('sign receipts, also after a rotation of NEXTVISIT_SECRET_KEY', () => {
    const keys = createInstallationKeys(givenKeyRing(A))
    const rotated = resealInstallationKeys(givenKeyRing(B, A), keys)
    const receipt = signReceipt(RECEIPT, openReceiptSecret(givenKeyRing(B), rotated.receiptSecret))
    expect(verifyReceipt(JSON.stringify(receipt), keys.receiptKey)).toMatchObject({ outcome: 'valid' })
  })

  it('hash a user in the same way after a rotation, and differently in another installation', () => {
    const keys = createInstallationKeys(givenKeyRing(A))
    const rotated = resealInstallationKeys(givenKeyRing(B, A), keys)
    const hash = createSuppressionHash(givenKeyRing(A), keys.suppressionKey)('user')
    expect(hash).toMatch(/^[0-9a-f]{64}$/)
    expect(createSuppressionHash(givenKeyRing(B), rotated.suppressionKey)('user')).toBe(hash)
    const other = createInstallationKeys(givenKeyRing(A))
    expect(createSuppressionHash(givenKeyRing(A), other.suppressionKey)('user')).not.toBe(hash)
  })

  it('cannot be opened without the key that seals them', () => {
    const keys = createInstallationKeys(givenKeyRing(A))
    expect(() => openReceiptSecret(givenKeyRing(B), keys.receiptSecret)).toThrow(InstallationKeyError)
    expect(() => createSuppressionHash(givenKeyRing(B), keys.suppressionKey)).toThrow(/lacks key [0-9a-f]{16}/)
    expect(() => openReceiptSecret(givenKeyRing(A), keys.suppressionKey)).toThrow(/of another installation/)
  })
})
