import { createCipheriv, createDecipheriv } from 'node:crypto'
import createSodium from 'libsodium'
import { NONCE_BYTES, writeNonce } from './nonces.ts'

const ALGORITHM = 'chacha20-poly1305'
const KEY_BYTES = 32
const TAG_BYTES = 16
/** Longer ones are encrypted by `node:crypto`, which is faster for them. */
const MAX_TEXT_BYTES = 32_768
const MAX_CONTEXT_BYTES = 256

/**
 * The common texts are encrypted in libsodium's memory (WebAssembly). `node:crypto` takes three times as long in a loop, and
 * more between other work: it allocates an object of OpenSSL for each text, which the garbage collector frees.
 */
const sodium = await createSodium()
const KEY = sodium._malloc(KEY_BYTES)
const CONTEXT = sodium._malloc(MAX_CONTEXT_BYTES)
const NONCE = sodium._malloc(NONCE_BYTES + MAX_TEXT_BYTES + TAG_BYTES)
const TEXT = NONCE + NONCE_BYTES
/** Nothing allocates after this, so the memory does not move. */
const memory = Buffer.from(sodium.HEAPU8.buffer)

/**
 * Encrypts with ChaCha20-Poly1305 (RFC 8439) and a random nonce: base64 of nonce, ciphertext and tag. `context` is authenticated with
 * them.
 */
export function encrypt(key: Buffer, text: string, context: string): string {
  // UTF-8 has at most three bytes per unit of a text.
  if (text.length * 3 > MAX_TEXT_BYTES || context.length * 3 > MAX_CONTEXT_BYTES)
    return encryptLarge(key, Buffer.from(text), context)
  memory.set(key, KEY)
  writeNonce(memory, NONCE)
  const contextBytes = memory.write(context, CONTEXT)
  const bytes = memory.write(text, TEXT)
  sodium._crypto_aead_chacha20poly1305_ietf_encrypt(TEXT, 0, TEXT, bytes, 0, CONTEXT, contextBytes, 0, 0, NONCE, KEY)
  return memory.toString('base64', NONCE, TEXT + bytes + TAG_BYTES)
}

/** Decrypts. undefined: the bytes were changed, or encrypted with another key or in another context. */
export function decrypt(key: Buffer, sealed: string, context: string): string | undefined {
  if (sealed.length > MAX_TEXT_BYTES || context.length * 3 > MAX_CONTEXT_BYTES)
    return decryptLarge(key, Buffer.from(sealed, 'base64'), context)
  const sealedBytes = memory.write(sealed, NONCE, 'base64') - NONCE_BYTES
  if (sealedBytes < TAG_BYTES) return undefined
  memory.set(key, KEY)
  const contextBytes = memory.write(context, CONTEXT)
  const isAuthentic =
    sodium._crypto_aead_chacha20poly1305_ietf_decrypt(
      TEXT,
      0,
      0,
      TEXT,
      sealedBytes,
      0,
      CONTEXT,
      contextBytes,
      0,
      NONCE,
      KEY,
    ) === 0
  return isAuthentic ? memory.toString('utf8', TEXT, TEXT + sealedBytes - TAG_BYTES) : undefined
}

function encryptLarge(key: Buffer, text: Buffer, context: string): string {
  const nonce = Buffer.alloc(NONCE_BYTES)
  writeNonce(nonce, 0)
  const cipher = createCipheriv(ALGORITHM, key, nonce, { authTagLength: TAG_BYTES })
  cipher.setAAD(Buffer.from(context), { plaintextLength: text.length })
  return Buffer.concat([nonce, cipher.update(text), cipher.final(), cipher.getAuthTag()]).toString('base64')
}

function decryptLarge(key: Buffer, sealed: Buffer, context: string): string | undefined {
  if (sealed.length < NONCE_BYTES + TAG_BYTES) return undefined
  const decipher = createDecipheriv(ALGORITHM, key, sealed.subarray(0, NONCE_BYTES), { authTagLength: TAG_BYTES })
  const text = sealed.subarray(NONCE_BYTES, -TAG_BYTES)
  decipher.setAAD(Buffer.from(context), { plaintextLength: text.length }).setAuthTag(sealed.subarray(-TAG_BYTES))
  try {
    return Buffer.concat([decipher.update(text), decipher.final()]).toString('utf8')
  } catch {
    return undefined
  }
}
