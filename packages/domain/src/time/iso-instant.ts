let lastMs = Number.NaN
let lastText = ''

/**
 * Formats an instant (ms since the epoch) as `Date.toISOString()` does. The last result is cached: a record contains the
 * instant of its request twice, and many requests arrive in the same millisecond. Throws RangeError for an invalid instant.
 */
export function isoInstant(ms: number): string {
  if (ms === lastMs) return lastText
  const text = new Date(ms).toISOString()
  lastMs = ms
  lastText = text
  return text
}
