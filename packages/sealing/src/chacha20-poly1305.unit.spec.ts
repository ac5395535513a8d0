import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto'
import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { decrypt, encrypt } from './chacha20-poly1305.ts'

const ALGORITHM = 'chacha20-poly1305'
const key = randomBytes(32)

/** Lengths around the limits of libsodium's part of the memory, and common ones. */
const text = fc.oneof(
  fc.string({ unit: 'grapheme' }),
  fc
    .tuple(fc.constantFrom('x', '\u00e9', '\u20ac'), fc.constantFrom(8_000, 10_922, 10_923, 24_000, 32_768, 200_000))
    .map(([unit, length]) => unit.repeat(length)),
)
const context = fc.oneof(fc.uuid(), fc.string({ unit: 'grapheme', maxLength: 90 }), fc.string({ minLength: 300 }))

function encryptByNode(clear: string, about: string): string {
  const nonce = randomBytes(12)
  const cipher = createCipheriv(ALGORITHM, key, nonce, { authTagLength: 16 }).setAAD(Buffer.from(about), {
    plaintextLength: Buffer.byteLength(clear),
  })
  return Buffer.concat([nonce, cipher.update(clear), cipher.final(), cipher.getAuthTag()]).toString('base64')
}

function decryptByNode(sealed: Buffer, about: string): string {
  const decipher = createDecipheriv(ALGORITHM, key, sealed.subarray(0, 12), { authTagLength: 16 })
  decipher.setAAD(Buffer.from(about), { plaintextLength: sealed.length - 28 }).setAuthTag(sealed.subarray(-16))
  return Buffer.concat([decipher.update(sealed.subarray(12, -16)), decipher.final()]).toString('utf8')
}

describe('a sealed text', () => {
  it('is nonce, ciphertext and tag of ChaCha20-Poly1305 (RFC 8439), whatever its length', () => {
    fc.assert(
      fc.property(text, context, (clear, about) => {
        expect(decryptByNode(Buffer.from(encrypt(key, clear, about), 'base64'), about)).toBe(clear)
        expect(decrypt(key, encryptByNode(clear, about), about)).toBe(clear)
      }),
    )
  })

  it('opens neither after a change of any bit, nor in a context that differs only at its end', () => {
    fc.assert(
      fc.property(text, context, fc.nat(), (clear, about, at) => {
        const sealed = encrypt(key, clear, about)
        const changed = Buffer.from(sealed, 'base64')
        const bit = at % (changed.length * 8)
        changed[bit >> 3] = (changed[bit >> 3] ?? 0) ^ (1 << (bit & 7))
        expect(decrypt(key, changed.toString('base64'), about)).toBeUndefined()
        expect(decrypt(key, sealed, `${about}x`)).toBeUndefined()
        expect(decrypt(randomBytes(32), sealed, about)).toBeUndefined()
        expect(decrypt(key, sealed, about)).toBe(clear)
      }),
    )
  })

  it('differs each time', () => {
    expect(new Set(Array.from({ length: 2_000 }, () => encrypt(key, 'text', 'x'))).size).toBe(2_000)
  })
})
