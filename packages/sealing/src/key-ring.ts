import { createHmac, createSecretKey, type KeyObject } from 'node:crypto'
import { decrypt, encrypt } from './aes-gcm.ts'

const KEY_ID_BYTES = 8
const KEY_ID_LABEL = 'nextvisit secret key id'
/** `<key id>.<nonce, tag and ciphertext>`: hex and base64. */
const SEALED = /^([0-9a-f]{16})\.([A-Za-z0-9+/]+={0,2})$/

export type Opened =
  | { readonly outcome: 'opened'; readonly bytes: Buffer }
  /** The ring lacks the key with this id. */
  | { readonly outcome: 'missing-key'; readonly keyId: string }
  /** The text was changed, or sealed for another context. */
  | { readonly outcome: 'damaged' }

/** The keys of NEXTVISIT_SECRET_KEY. The first one seals, all open. The object reveals no key, even if it is logged. */
export interface KeyRing {
  /**
   * Ids of the keys, newest first: 16 hex digits of a HMAC-SHA256, which reveal nothing about the key. Logs and reports may
   * contain them.
   */
  readonly keyIds: readonly string[]
  /** Id of the key that seals. */
  readonly newestKeyId: string
  /**
   * Encrypts bytes with AES-256-GCM under the newest key and a random nonce, as text that names the key. `context` says what
   * the bytes are and whose, such as `signing-secret:acme/shop`; the text opens in that context only.
   */
  readonly seal: (bytes: Uint8Array, context: string) => string
  /** Decrypts with the key that the text names. */
  readonly open: (sealed: string, context: string) => Opened
}

/** Returns the id of the key that sealed a text. undefined: the text was not sealed. */
export function sealedWith(sealed: string): string | undefined {
  return SEALED.exec(sealed)?.[1]
}

/** Creates a ring of keys of 32 bytes, newest first; at least one. */
export function createKeyRing(keys: readonly [Uint8Array, ...Uint8Array[]]): KeyRing {
  const [newest, ...older] = keys
  const [newestKeyId, newestKey] = namedKey(newest)
  const byId = new Map([[newestKeyId, newestKey], ...older.map(namedKey)])
  return {
    keyIds: [...byId.keys()],
    newestKeyId,
    seal: (bytes, context) => `${newestKeyId}.${encrypt(newestKey, bytes, context).toString('base64')}`,
    open: (sealed, context) => {
      const [, keyId, text] = SEALED.exec(sealed) ?? []
      if (keyId === undefined || text === undefined) return { outcome: 'damaged' }
      const key = byId.get(keyId)
      if (key === undefined) return { outcome: 'missing-key', keyId }
      const ciphertext = Buffer.from(text, 'base64')
      // Node ignores the surplus bits of base64, so that several texts would be the same bytes.
      if (ciphertext.toString('base64') !== text) return { outcome: 'damaged' }
      const bytes = decrypt(key, ciphertext, context)
      return bytes === undefined ? { outcome: 'damaged' } : { outcome: 'opened', bytes }
    },
  }
}

function namedKey(key: Uint8Array): readonly [keyId: string, key: KeyObject] {
  const digest = createHmac('sha256', key).update(KEY_ID_LABEL).digest()
  return [digest.toString('hex', 0, KEY_ID_BYTES), createSecretKey(key)]
}
