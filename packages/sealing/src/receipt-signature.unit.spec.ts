import { generateKeyPairSync } from 'node:crypto'
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
const RECEIPT = { version: 1, erasureId: 'e1', users: [{ userId: 'u1', offset: '12' }], notCovered: ['Exports.'] }

function givenReceipt() {
  const { privateKey } = generateKeyPairSync('ed25519')
  return signReceipt(RECEIPT, privateKey)
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

  it('is invalid after any change of a character', () => {
    const text = JSON.stringify(givenReceipt())
    const anyCharacter = fc.string({ minLength: 1, maxLength: 1, unit: 'binary-ascii' })
    fc.assert(
      fc.property(fc.nat(text.length - 1), anyCharacter, (at, to) => {
        const changed = text.slice(0, at) + to + text.slice(at + 1)
        fc.pre(changed !== text)
        expect(verifyReceipt(changed).outcome).toBe('invalid')
      }),
      { numRuns: 2_000 },
    )
    for (let at = 0; at < text.length; at++)
      expect(verifyReceipt(text.slice(0, at) + text.slice(at + 1)).outcome).toBe('invalid')
  })

  it('is invalid with a member twice, and with a further member', () => {
    const text = JSON.stringify(givenReceipt())
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
