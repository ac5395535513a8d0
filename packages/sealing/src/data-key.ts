import { createHash, randomBytes, randomUUID } from 'node:crypto'
import { decrypt, encrypt } from './chacha20-poly1305.ts'
import { keyNameOf, type KeyPlace } from './key-name.ts'
import { type KeyRing, sealedWith } from './key-ring.ts'

const KEY_BYTES = 32

/** A data key of a user, ready for use. It reveals no key, even if it is logged. */
export interface DataKey {
  /** The keyId: a UUIDv7, so it contains the instant of its creation. */
  readonly id: string
  /** Encrypts a text as base64 of nonce, ciphertext and tag. It opens in the same context only. */
  readonly seal: (text: string, context: string) => string
  /** undefined: the text was changed, or sealed by another key or for another context. */
  readonly open: (sealed: string, context: string) => string | undefined
}

/** A data key as it is stored: encrypted with a key of the ring. */
export interface WrappedKey {
  readonly userId: string
  readonly keyId: string
  readonly wrapped: string
}

export type Unwrapped =
  | { readonly outcome: 'unwrapped'; readonly key: DataKey }
  /** The ring lacks the key with this id. */
  | { readonly outcome: 'missing-key'; readonly keyId: string }
  /** The text was changed, or wrapped for another user or keyId. */
  | { readonly outcome: 'damaged' }

/** Creates a key of a user. `atMs`: the instant in its id, ms since the epoch. */
export function createDataKey(
  ring: KeyRing,
  userId: string,
  atMs: number,
): { readonly key: DataKey; readonly wrapped: WrappedKey } {
  const keyId = uuidV7At(atMs)
  const bytes = randomBytes(KEY_BYTES)
  const wrapped = ring.seal(bytes, contextOf({ userId, keyId }))
  return { key: dataKeyOf(keyId, bytes), wrapped: { userId, keyId, wrapped } }
}

/** Decrypts a stored key. */
export function unwrapDataKey(ring: KeyRing, stored: WrappedKey): Unwrapped {
  const opened = ring.open(stored.wrapped, contextOf(stored))
  if (opened.outcome !== 'opened') return opened
  if (opened.bytes.length !== KEY_BYTES) return { outcome: 'damaged' }
  return { outcome: 'unwrapped', key: dataKeyOf(stored.keyId, opened.bytes) }
}

/**
 * Encrypts a stored key, which stays the same, with the newest key of the ring. undefined: that key encrypts it already, or the
 * ring cannot decrypt it.
 */
export function rewrapDataKey(ring: KeyRing, stored: WrappedKey): WrappedKey | undefined {
  if (sealedWith(stored.wrapped) === ring.newestKeyId) return undefined
  const context = contextOf(stored)
  const opened = ring.open(stored.wrapped, context)
  return opened.outcome === 'opened' ? { ...stored, wrapped: ring.seal(opened.bytes, context) } : undefined
}

/** Returns what receipts call a stored key: SHA-256 of its wrapped text, hex. */
export function fingerprintOf({ wrapped }: Pick<WrappedKey, 'wrapped'>): string {
  return createHash('sha256').update(wrapped).digest('hex')
}

function contextOf(place: KeyPlace): string {
  return `user-key:${keyNameOf(place)}`
}

/** A closure hides the bytes of the key from dumps of the object. */
function dataKeyOf(id: string, bytes: Buffer): DataKey {
  // In Node's pool: a buffer of its own would take more memory than the key.
  const key = Buffer.from(bytes)
  return {
    id,
    seal: (text, context) => encrypt(key, text, context),
    open: (sealed, context) => decrypt(key, sealed, context),
  }
}

/** Returns a UUIDv7 of a chosen instant: `randomUUIDv7` knows the present only. */
function uuidV7At(ms: number): string {
  const time = Math.trunc(ms).toString(16).padStart(12, '0')
  // A random UUID has variant bits, and its version is replaced.
  return `${time.slice(0, 8)}-${time.slice(8)}-7${randomUUID().slice(15)}`
}
