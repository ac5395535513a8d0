import { hashApiKey, parseApiKey } from '@nextvisit/domain'
import { LRUCache } from 'lru-cache'

const MAX_KNOWN_KEYS = 10_000
/** Of keys that came of late: each request names one. */
const hashes = new LRUCache<string, string>({ max: MAX_KNOWN_KEYS })

/** The hash that the catalog knows a key by, or undefined for a text that is no key. Only keys are remembered: a text may have any length. */
export function keyHashOf(text: string): string | undefined {
  const known = hashes.get(text)
  if (known !== undefined || !parseApiKey(text)) return known
  const hash = hashApiKey(text)
  hashes.set(text, hash)
  return hash
}
