import {
  createHmac,
  createPrivateKey,
  createSecretKey,
  generateKeyPairSync,
  type KeyObject,
  randomBytes,
} from 'node:crypto'
import type { KeyRing, Opened } from './key-ring.ts'

/** Keys that exist once in an installation, as they are stored: private ones are sealed by the ring. */
export interface StoredInstallationKeys {
  /** The Ed25519 key that verifies receipts: 32 bytes in base64url. */
  readonly receiptKey: string
  /** The private half, sealed. */
  readonly receiptSecret: string
  /** The key of the hashes of suppressed users, sealed. */
  readonly suppressionKey: string
}

const RECEIPT_CONTEXT = 'installation:receipt-key'
const SUPPRESSION_CONTEXT = 'installation:suppression-key'
const SUPPRESSION_KEY_BYTES = 32

/** Creates the keys of an installation. */
export function createInstallationKeys(ring: KeyRing): StoredInstallationKeys {
  const { publicKey, privateKey } = generateKeyPairSync('ed25519')
  return {
    receiptKey: publicKey.export({ format: 'jwk' }).x ?? '',
    receiptSecret: ring.seal(privateKey.export({ format: 'der', type: 'pkcs8' }), RECEIPT_CONTEXT),
    suppressionKey: ring.seal(randomBytes(SUPPRESSION_KEY_BYTES), SUPPRESSION_CONTEXT),
  }
}

/** Returns the keys, sealed by the newest key of the ring. Throws {@link InstallationKeyError}. */
export function resealInstallationKeys(ring: KeyRing, keys: StoredInstallationKeys): StoredInstallationKeys {
  return {
    receiptKey: keys.receiptKey,
    receiptSecret: ring.seal(bytesOf(ring.open(keys.receiptSecret, RECEIPT_CONTEXT)), RECEIPT_CONTEXT),
    suppressionKey: ring.seal(bytesOf(ring.open(keys.suppressionKey, SUPPRESSION_CONTEXT)), SUPPRESSION_CONTEXT),
  }
}

/** Returns the key that signs receipts. Throws {@link InstallationKeyError}. */
export function openReceiptSecret(ring: KeyRing, receiptSecret: string): KeyObject {
  const key = bytesOf(ring.open(receiptSecret, RECEIPT_CONTEXT))
  return createPrivateKey({ key, format: 'der', type: 'pkcs8' })
}

/**
 * Returns the function that hashes suppressed users: HMAC-SHA256 of the userId, as hex. Unlike a userId, the hash cannot be
 * computed from a guessed userName. Throws {@link InstallationKeyError}.
 */
export function createSuppressionHash(ring: KeyRing, suppressionKey: string): (userId: string) => string {
  const key = createSecretKey(bytesOf(ring.open(suppressionKey, SUPPRESSION_CONTEXT)))
  return (userId) => createHmac('sha256', key).update(userId).digest('hex')
}

/** A key of the installation cannot be opened with NEXTVISIT_SECRET_KEY. */
export class InstallationKeyError extends Error {
  readonly code = 'INSTALLATION_KEY_SEALED'
  readonly retryable = false

  constructor(because: string) {
    super(`The keys of the installation cannot be opened: ${because}. See docs/runbooks/erasure.md`)
    this.name = 'InstallationKeyError'
  }
}

function bytesOf(opened: Opened): Buffer {
  if (opened.outcome === 'opened') return opened.bytes
  throw new InstallationKeyError(
    opened.outcome === 'missing-key'
      ? `NEXTVISIT_SECRET_KEY lacks key ${opened.keyId}`
      : 'they were changed, or NEXTVISIT_SECRET_KEY is of another installation',
  )
}
