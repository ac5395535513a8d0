import { hash } from 'node:crypto'
import { crc32 } from 'node:zlib'
import type { Environment, KeyKind } from '@nextvisit/contracts'

const BASE62 = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'
const SECRET_LENGTH = 32
const CHECKSUM_LENGTH = 6
const API_KEY = /^(nv_(admin|sdk)_(P|T)_[0-9A-Za-z]{32})([0-9A-Za-z]{6})$/

interface ParsedApiKey {
  readonly kind: KeyKind
  readonly environment: Environment
}

/**
 * Creates a key, `nv_<admin|sdk>_<P|T>_<32 base62><checksum>` (decisions.md, Keys). `random` is at least 32 bytes from a
 * cryptographic source; the same bytes give the same key.
 */
export function createApiKey(kind: KeyKind, environment: Environment, random: Uint8Array): string {
  if (random.length < SECRET_LENGTH) throw new RangeError('createApiKey needs at least 32 random bytes')
  // 256 bits reduced to 32 digits (190 bits): the bias is negligible.
  const secret = secretOf(BigInt(`0x${Buffer.from(random).toString('hex')}`))
  const head = `nv_${kind}_${environment}_${secret}`
  return head + checksumOf(head)
}

/** Returns the kind and environment of a key. undefined: it is malformed or mistyped. The catalog may still not know it. */
export function parseApiKey(text: string): ParsedApiKey | undefined {
  const match = API_KEY.exec(text)
  if (!match?.[1] || match[4] !== checksumOf(match[1])) return undefined
  return { kind: match[2] === 'admin' ? 'admin' : 'sdk', environment: match[3] === 'P' ? 'P' : 'T' }
}

/** Returns the SHA-256 of a key in hex, the only form in which it is stored or published. */
export function hashApiKey(text: string): string {
  return hash('sha256', text)
}

/** Returns the checksum of a key. Numbers, because every request checks one and BigInt is several times slower. */
function checksumOf(head: string): string {
  let digits = ''
  for (let rest = crc32(head); digits.length < CHECKSUM_LENGTH; rest = Math.floor(rest / 62))
    digits = BASE62.charAt(rest % 62) + digits
  return digits
}

/** Returns the last base-62 digits of a number, padded with `0`. */
function secretOf(value: bigint): string {
  let digits = ''
  for (let rest = value; digits.length < SECRET_LENGTH; rest /= 62n) digits = BASE62.charAt(Number(rest % 62n)) + digits
  return digits
}
