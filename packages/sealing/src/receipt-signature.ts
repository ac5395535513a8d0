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
  const { signature, ...signed } = receipt
  const forms = formsOf(receipt, signed)
  if (!forms) return invalid('it is nested too deeply')
  // Only the last of repeated members is parsed, so the others could hold anything. Numbers and strings have many spellings.
  if (!equalsWithoutSpaces(text, forms.rewritten)) return invalid('it has members twice, or other spellings')
  const { publicKey } = signed
  if (typeof publicKey !== 'string' || typeof signature !== 'string') return invalid('it lacks publicKey or signature')
  const key = parseKey(publicKey)
  if (!key) return invalid('its publicKey is not an Ed25519 key')
  if (expectedKey !== undefined && publicKey !== expectedKey) return invalid(`its key is ${publicKey}`)
  const bytes = Buffer.from(signature, 'base64url')
  // Several texts decode to the same bytes.
  const isCanonical = bytes.toString('base64url') === signature
  if (!isCanonical || !verify(undefined, Buffer.from(forms.canonical), key, bytes))
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

/** Returns whether a text has the form of a `publicKey`: 32 bytes in base64url. */
export function isReceiptKey(text: string): boolean {
  return /^[\w-]{43}$/.test(text)
}

/** Parses a key. The decoder alone would skip characters that are not part of it. */
function parseKey(x: string): KeyObject | undefined {
  if (!isReceiptKey(x)) return undefined
  try {
    return createPublicKey({ key: { kty: 'OKP', crv: 'Ed25519', x }, format: 'jwk' })
  } catch {
    return undefined
  }
}

/** Serializes a receipt in its own order of members, and what is signed in canonical form. undefined: the stack is too small. */
function formsOf(
  receipt: object,
  signed: object,
): { readonly rewritten: string; readonly canonical: string } | undefined {
  try {
    return { rewritten: JSON.stringify(receipt), canonical: canonicalJson(signed) }
  } catch (error) {
    if (error instanceof RangeError) return undefined
    throw error
  }
}

/** Compares a JSON text, without the spaces outside its strings, with another that has none there. */
function equalsWithoutSpaces(json: string, other: string): boolean {
  let at = 0
  let isInString = false
  let isEscaped = false
  for (let from = 0; from < json.length; from++) {
    const unit = json.charAt(from)
    if (!isInString && ' \t\n\r'.includes(unit)) continue
    if (unit !== other[at]) return false
    at += 1
    if (unit === '"' && !isEscaped) isInString = !isInString
    isEscaped = unit === '\\' && !isEscaped
  }
  return at === other.length
}

function invalid(reason: string): ReceiptVerdict {
  return { outcome: 'invalid', reason }
}
