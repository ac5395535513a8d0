import { createDecipheriv, createHmac, type Decipheriv } from 'node:crypto'
import { AuditError } from './errors.ts'

const NONCE_BYTES = 12
const TAG_BYTES = 16
const WRAPPED = /^([0-9a-f]{16})\.([A-Za-z0-9+/=]+)$/

/** The keys of NEXTVISIT_SECRET_KEY, which wrap the keys of users. */
export interface SecretKeys {
  /** Returns the bytes of a wrapped key; undefined: it is damaged. Throws an {@link AuditError} if the variable lacks its key. */
  readonly unwrap: (wrapped: string, context: string) => Buffer | undefined
}

/** Parses NEXTVISIT_SECRET_KEY: keys of 64 hexadecimal characters, separated by commas. Without it, `unwrap` throws. */
export function createSecretKeys(variable: string | undefined): SecretKeys {
  const keys = (variable ?? '').split(',').flatMap((text) => (text.trim() ? [Buffer.from(text.trim(), 'hex')] : []))
  const byId = new Map(
    keys.map((key) => [createHmac('sha256', key).update('nextvisit secret key id').digest('hex').slice(0, 16), key]),
  )
  return {
    unwrap: (wrapped, context) => {
      const [, id = '', sealed = ''] = WRAPPED.exec(wrapped) ?? []
      if (id === '') return undefined
      const key = byId.get(id)
      if (!key) throw new AuditError(missingKey(id, byId.size === 0))
      return decrypt(key, Buffer.from(sealed, 'base64'), context)
    },
  }
}

function missingKey(id: string, isUnset: boolean): string {
  const what = isUnset ? 'is not set' : `lacks the key ${id}`
  return `NEXTVISIT_SECRET_KEY ${what}, so that the audit cannot open the records of users. Set it as for the services.`
}

/** Decrypts nonce, tag and ciphertext of AES-256-GCM; undefined: the key, the context or the bytes are others. */
function decrypt(key: Buffer, sealed: Buffer, context: string): Buffer | undefined {
  if (sealed.length < NONCE_BYTES + TAG_BYTES) return undefined
  const nonce = sealed.subarray(0, NONCE_BYTES)
  const decipher = createDecipheriv('aes-256-gcm', key, nonce, { authTagLength: TAG_BYTES })
  decipher.setAAD(Buffer.from(context))
  decipher.setAuthTag(sealed.subarray(NONCE_BYTES, NONCE_BYTES + TAG_BYTES))
  return decipherAll(decipher, sealed.subarray(NONCE_BYTES + TAG_BYTES))
}

/** Decrypts nonce, ciphertext and tag of ChaCha20-Poly1305, the sealed members of a record; undefined: as above. */
export function decryptMembers(key: Buffer, sealed: Buffer, context: string): string | undefined {
  if (sealed.length < NONCE_BYTES + TAG_BYTES) return undefined
  const nonce = sealed.subarray(0, NONCE_BYTES)
  const text = sealed.subarray(NONCE_BYTES, -TAG_BYTES)
  const decipher = createDecipheriv('chacha20-poly1305', key, nonce, { authTagLength: TAG_BYTES })
  decipher.setAAD(Buffer.from(context), { plaintextLength: text.length })
  decipher.setAuthTag(sealed.subarray(-TAG_BYTES))
  return decipherAll(decipher, text)?.toString('utf8')
}

function decipherAll(decipher: Decipheriv, text: Buffer): Buffer | undefined {
  try {
    return Buffer.concat([decipher.update(text), decipher.final()])
  } catch {
    return undefined
  }
}
