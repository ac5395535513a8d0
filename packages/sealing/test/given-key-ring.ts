import { type KeyRing, parseKeyRing } from '../src/index.ts'

/** Creates a ring of keys for specs, newest first. */
export function givenKeyRing(...keys: readonly string[]): KeyRing {
  const parsed = parseKeyRing(keys.join(','))
  if (parsed.outcome === 'invalid') throw new TypeError(parsed.reason)
  return parsed.ring
}
