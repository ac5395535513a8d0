import { createKeyRing, type KeyRing } from './key-ring.ts'

/** The variable that holds the keys of a ring. */
export const SECRET_KEY_VARIABLE = 'NEXTVISIT_SECRET_KEY'

const MAX_KEYS = 8
const KEY = /^[0-9a-f]{64}$/i

/**
 * Parses NEXTVISIT_SECRET_KEY: 1 to 8 keys of 32 bytes as hex, comma-separated, newest first. Spaces around a key are
 * ignored. `reason` names a faulty key by its position and contains no key.
 */
export function parseKeyRing(
  text: string,
): { readonly outcome: 'ok'; readonly ring: KeyRing } | { readonly outcome: 'invalid'; readonly reason: string } {
  const items = text.split(',').map((item) => item.trim().toLowerCase())
  if (items.length > MAX_KEYS) return invalid(`must hold at most ${MAX_KEYS} keys, but has ${items.length}`)
  const malformed = items.findIndex((item) => !KEY.test(item))
  if (malformed >= 0) return invalid(`key ${malformed + 1} must be 64 hexadecimal characters`)
  const repeated = items.findIndex((item, index) => items.indexOf(item) < index)
  if (repeated >= 0)
    return invalid(`key ${repeated + 1} is the same as key ${items.indexOf(items[repeated] ?? '') + 1}; remove one`)
  const [newest, ...older] = items.map((item) => Buffer.from(item, 'hex'))
  // A text without a comma is one item, so there is a newest one.
  return newest === undefined ? invalid('must hold a key') : { outcome: 'ok', ring: createKeyRing([newest, ...older]) }
}

function invalid(reason: string) {
  return { outcome: 'invalid', reason } as const
}
