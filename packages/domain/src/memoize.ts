import { LRUCache } from 'lru-cache'

/**
 * Caches the results of a rule for the last `max` texts. `undefined` and errors are not cached. The cache copies its keys: a
 * text may be a slice, which would keep the whole body alive.
 */
export function memoize<Result extends {} | undefined>(
  max: number,
  rule: (text: string) => Result,
): (text: string) => Result {
  const results = new LRUCache<string, Result & {}>({ max })
  return (text) => {
    const known = results.get(text)
    if (known !== undefined) return known
    const result = rule(text)
    // The copy of a lone surrogate would be another text.
    if (result !== undefined && text.isWellFormed()) results.set(Buffer.from(text).toString(), result)
    return result
  }
}
