import { randomInt } from 'node:crypto'

/** Bytes of an item that its first token pays for. */
export const BYTES_OF_AN_ITEM = 8_192

/** The parts of a body that its price depends on. */
export interface BodyWeight {
  /** Inflated. */
  readonly bytes: number
  /** Number of elements of the arrays that are members of the body, such as `items`. */
  readonly items: number
  /** Bytes by which these elements exceed {@link BYTES_OF_AN_ITEM} each, in total. */
  readonly bytesBeyond: number
  /** Number of distinct member names, at any level: approximate, see {@link weighBody}. */
  readonly names: number
}

const QUOTE = 0x22
const COMMA = 0x2c
const COLON = 0x3a
const BACKSLASH = 0x5c
/** Codes of `[` and `]`. Those of `{` and `}` have one more bit. */
const OPENING = 0x5b
const CLOSING = 0x5d
const BRACE_BIT = 0x20

/** A bit for each hash of a name. A table of names could be made slow by names that collide. */
const NAME_BITS = 18
const seenNames = new Uint32Array(2 ** NAME_BITS / 32)
/** Callers cannot choose names with equal bits. */
const HASH_SEED = randomInt(2 ** 32)
const FNV_PRIME = 0x01000193

/**
 * Weighs a body before it is parsed. It takes about a third of the time of parsing. The bytes may be anything; each is read
 * twice at most. For JSON the result is exact, except for `names`: a name that is written in two ways, with escapes, counts
 * twice, and names that share a hash count once.
 */
export function weighBody(body: Uint8Array): BodyWeight {
  seenNames.fill(0)
  let [items, bytesBeyond, names] = [0, 0, 0]
  let depth = 0
  /** The position of the current item; -1 outside the arrays of the body. */
  let itemAt = -1
  let arrayAt = -1
  /** The last string; `stringAt` is -1 once it is counted as a name, so that further colons do not read it again. */
  let [stringAt, stringEnd] = [-1, -1]
  for (let at = 0; at < body.length; at += 1) {
    const byte = body[at] ?? 0
    if (byte === QUOTE) {
      stringAt = at + 1
      stringEnd = endOfString(body, stringAt)
      at = stringEnd
    } else if (byte === COLON) {
      if (stringAt !== -1 && isNewName(body, stringAt, stringEnd)) names += 1
      stringAt = -1
    } else if (byte === COMMA && itemAt !== -1 && depth === 2) {
      items += 1
      bytesBeyond += Math.max(0, at - itemAt - BYTES_OF_AN_ITEM)
      itemAt = at + 1
    } else if ((byte | BRACE_BIT) === (OPENING | BRACE_BIT)) {
      depth += 1
      if (depth === 2 && byte === OPENING) itemAt = arrayAt = at + 1
    } else if ((byte | BRACE_BIT) === (CLOSING | BRACE_BIT)) {
      if (depth === 2 && itemAt !== -1) {
        const isEmpty = itemAt === arrayAt && isBlank(body, itemAt, at)
        items += isEmpty ? 0 : 1
        bytesBeyond += Math.max(0, at - itemAt - BYTES_OF_AN_ITEM)
        itemAt = -1
      }
      depth -= 1
    }
  }
  return { bytes: body.length, items, bytesBeyond, names }
}

/** Returns the position of the quote that ends a string; the length of the body if none does. */
function endOfString(body: Uint8Array, beginsAt: number): number {
  let at = beginsAt
  for (let byte = body[at]; byte !== QUOTE && at < body.length; byte = body[at]) at += byte === BACKSLASH ? 2 : 1
  return at
}

/** Returns true for the first name with this hash. */
function isNewName(body: Uint8Array, from: number, to: number): boolean {
  let hash = HASH_SEED
  for (let at = from; at < to; at += 1) hash = Math.imul(hash ^ (body[at] ?? 0), FNV_PRIME)
  const bit = hash >>> (32 - NAME_BITS)
  const word = bit >>> 5
  const mask = 1 << (bit & 31)
  const seen = seenNames[word] ?? 0
  seenNames[word] = seen | mask
  return (seen & mask) === 0
}

function isBlank(body: Uint8Array, from: number, to: number): boolean {
  for (let at = from; at < to; at += 1) if ((body[at] ?? 0) > 0x20) return false
  return true
}
