import { LRUCache } from 'lru-cache'

/**
 * A rule that remembers what it made of the last `max` texts. `undefined` and what it throws are not remembered. It keeps
 * copies: a text may be a slice, which keeps all of the body alive that it was cut from.
 */
export function remembered<Result extends {} | undefined>(
  max: number,
  rule: (text: string) => Result,
): (text: string) => Result {
  const results = new LRUCache<string, Result & {}>({ max })
  return (text) => {
    const known = results.get(text)
    if (known !== undefined) return known
    const result = rule(text)
    // A copy of a lone surrogate would be another text.
    if (result !== undefined && text.isWellFormed()) results.set(Buffer.from(text).toString(), result)
    return result
  }
}
