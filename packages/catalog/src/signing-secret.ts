import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto'
import type { ProjectRef } from '@nextvisit/contracts'

const ALGORITHM = 'aes-256-gcm'
const NONCE_BYTES = 12
const TAG_BYTES = 16
const SECRET_KEY = /^[0-9a-fA-F]{64}$/

/** Returns whether a text can be NEXTVISIT_SECRET_KEY: 32 bytes, hex. */
export function isSecretKey(text: string): boolean {
  return SECRET_KEY.test(text)
}

/**
 * Encrypts a project's signing secret for the catalog: AES-256-GCM with NEXTVISIT_SECRET_KEY (32 bytes, hex), as base64 of
 * nonce, tag and text. The result is bound to its project and cannot be decrypted in another one.
 */
export function encryptSigningSecret(secret: string, secretKey: string, project: ProjectRef): string {
  const nonce = randomBytes(NONCE_BYTES)
  const cipher = createCipheriv(ALGORITHM, keyBytes(secretKey), nonce).setAAD(boundTo(project))
  const text = Buffer.concat([cipher.update(secret, 'utf8'), cipher.final()])
  return Buffer.concat([nonce, cipher.getAuthTag(), text]).toString('base64')
}

/** Decrypts a signing secret. undefined: it was encrypted with another key or for another project, or is damaged. */
export function decryptSigningSecret(encrypted: string, secretKey: string, project: ProjectRef): string | undefined {
  const bytes = Buffer.from(encrypted, 'base64')
  if (bytes.length < NONCE_BYTES + TAG_BYTES) return undefined
  const nonce = bytes.subarray(0, NONCE_BYTES)
  const tag = bytes.subarray(NONCE_BYTES, NONCE_BYTES + TAG_BYTES)
  const decipher = createDecipheriv(ALGORITHM, keyBytes(secretKey), nonce, { authTagLength: TAG_BYTES })
  decipher.setAAD(boundTo(project)).setAuthTag(tag)
  try {
    return decipher.update(bytes.subarray(NONCE_BYTES + TAG_BYTES), undefined, 'utf8') + decipher.final('utf8')
  } catch {
    return undefined
  }
}

function keyBytes(secretKey: string): Buffer {
  if (!isSecretKey(secretKey)) throw new TypeError('NEXTVISIT_SECRET_KEY must be 32 bytes as 64 hex characters')
  return Buffer.from(secretKey, 'hex')
}

function boundTo({ organization, project }: ProjectRef): Buffer {
  return Buffer.from(`${organization}/${project}`)
}
