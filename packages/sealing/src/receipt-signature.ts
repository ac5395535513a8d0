import { createPublicKey, type KeyObject, sign, verify } from 'node:crypto'
import { canonicalJson } from './canonical-json.ts'

/** Members that a signed document has in addition to its content. */
export interface ReceiptSignature {
  /** Ed25519 key: 32 bytes in base64url. */
  readonly publicKey: string
  /** Ed25519 of the canonical JSON of all other members: 64 bytes in base64url. */
  readonly signature: string
}

/** Signs a document with an Ed25519 key. */
export function signReceipt<Content extends object>(content: Content, secret: KeyObject): Content & ReceiptSignature {
  const signed = { ...content, publicKey: publicKeyOf(secret) }
  const signature = sign(undefined, Buffer.from(canonicalJson(signed)), secret).toString('base64url')
  return { ...signed, signature }
}

export type ReceiptVerdict =
  | { readonly outcome: 'valid'; readonly receipt: Readonly<Record<string, unknown>> & ReceiptSignature }
  | { readonly outcome: 'invalid'; readonly reason: string }

/**
 * Verifies the text of a receipt. Any change makes it invalid, except spaces between members and their order. Without
 * `expectedKey`, a valid receipt proves only that the holder of the key in it has signed it.
 */
export function verifyReceipt(text: string, expectedKey?: string): ReceiptVerdict {
  const receipt = parseObject(text)
  if (!receipt) return invalid('it is not a JSON object')
  // Otherwise a repeated member, of which only the last one is parsed, could hold anything.
  const lengths = lengthsOf(text, receipt)
  if (!lengths) return invalid('it is nested too deeply')
  if (lengths.written !== lengths.canonical) return invalid('it has members twice, or other spellings')
  const { signature, ...signed } = receipt
  const { publicKey } = signed
  if (typeof publicKey !== 'string' || typeof signature !== 'string') return invalid('it lacks publicKey or signature')
  if (expectedKey !== undefined && publicKey !== expectedKey) return invalid(`its key is ${shown(publicKey)}`)
  const key = parseKey(publicKey)
  if (!key) return invalid('its publicKey is not an Ed25519 key')
  const bytes = Buffer.from(signature, 'base64url')
  // Several texts decode to the same bytes.
  const isCanonical = bytes.toString('base64url') === signature
  if (!isCanonical || !verify(undefined, Buffer.from(canonicalJson(signed)), key, bytes))
    return invalid('it was changed after it was signed')
  return { outcome: 'valid', receipt: { ...signed, publicKey, signature } }
}

function publicKeyOf(secret: KeyObject): string {
  return createPublicKey(secret).export({ format: 'jwk' }).x ?? ''
}

function parseObject(text: string): Readonly<Record<string, unknown>> | undefined {
  try {
    const value: unknown = JSON.parse(text)
    return typeof value === 'object' && value !== null && !Array.isArray(value)
      ? (value as Readonly<Record<string, unknown>>)
      : undefined
  } catch {
    return undefined
  }
}

function parseKey(x: string): KeyObject | undefined {
  try {
    return createPublicKey({ key: { kty: 'OKP', crv: 'Ed25519', x }, format: 'jwk' })
  } catch {
    return undefined
  }
}

/** Measures a JSON text without spaces, and its canonical form. undefined: the stack is too small for it. */
function lengthsOf(text: string, value: object): { readonly written: number; readonly canonical: number } | undefined {
  try {
    return { written: withoutSpaces(text).length, canonical: canonicalJson(value).length }
  } catch (error) {
    if (error instanceof RangeError) return undefined
    throw error
  }
}

/** Removes the spaces of a JSON text that are outside its strings. */
function withoutSpaces(json: string): string {
  return json.replaceAll(/("(?:[^"\\]|\\.)*")|\s+/g, (_all, string: string | undefined) => string ?? '')
}

function shown(publicKey: string): string {
  return /^[\w-]{43}$/.test(publicKey) ? publicKey : 'not a key'
}

function invalid(reason: string): ReceiptVerdict {
  return { outcome: 'invalid', reason }
}
