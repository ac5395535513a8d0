/**
 * Returns the identity of an event: `Checkout Completed` and `checkout_completed` are one (decisions.md, Track event). Empty
 * for a name without a letter or digit. A slug can be `__proto__`: never index a plain object by it.
 */
export function eventSlug(name: string): string {
  return name
    .normalize('NFC')
    .trim()
    .toLowerCase()
    .replace(/[^\p{L}\p{Nd}]+/gu, '_')
    .replace(/^_|_$/g, '')
}

/** Returns whether a name is that of a system event, `form:*`, which no caller may send. Check it before slugging. */
export function isReservedEventName(name: string): boolean {
  return name.trim().toLowerCase().startsWith('form:')
}
