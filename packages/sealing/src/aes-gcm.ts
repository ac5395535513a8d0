import { createCipheriv, createDecipheriv, type KeyObject } from 'node:crypto'
import { NONCE_BYTES, writeNonce } from './nonces.ts'

const ALGORITHM = 'aes-256-gcm'
const TAG_BYTES = 16

/** Encrypts with AES-256-GCM and a random nonce: nonce, tag, ciphertext. `context` is authenticated with them. */
export function encrypt(key: KeyObject, bytes: Uint8Array, context: string): Buffer {
  const nonce = Buffer.alloc(NONCE_BYTES)
  writeNonce(nonce, 0)
  const cipher = createCipheriv(ALGORITHM, key, nonce).setAAD(Buffer.from(context))
  const text = cipher.update(bytes)
  // GCM has no last block.
  cipher.final()
  return Buffer.concat([nonce, cipher.getAuthTag(), text])
}

/** Decrypts. undefined: the bytes were changed, or encrypted with another key or in another context. */
export function decrypt(key: KeyObject, sealed: Buffer, context: string): Buffer | undefined {
  if (sealed.length < NONCE_BYTES + TAG_BYTES) return undefined
  const [nonce, tag] = [sealed.subarray(0, NONCE_BYTES), sealed.subarray(NONCE_BYTES, NONCE_BYTES + TAG_BYTES)]
  const decipher = createDecipheriv(ALGORITHM, key, nonce, { authTagLength: TAG_BYTES })
  decipher.setAAD(Buffer.from(context)).setAuthTag(tag)
  try {
    return Buffer.concat([decipher.update(sealed.subarray(NONCE_BYTES + TAG_BYTES)), decipher.final()])
  } catch {
    return undefined
  }
}
