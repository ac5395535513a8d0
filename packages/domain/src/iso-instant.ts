let lastMs = Number.NaN
let lastText = ''

/**
 * An instant, ms since the epoch, as `Date.toISOString()` writes it. The last one is remembered: a record holds the instant
 * of its request twice, and many requests come in the same millisecond. Throws RangeError like `Date.toISOString()`.
 */
export function isoInstant(ms: number): string {
  if (ms === lastMs) return lastText
  const text = new Date(ms).toISOString()
  lastMs = ms
  lastText = text
  return text
}
