/**
 * The identity of an event: `Checkout Completed` and `checkout_completed` are one (decisions.md, Track event). Empty for
 * a name without a letter or digit. What it returns can be `__proto__`-like: never index a plain object by it.
 */
export function eventSlug(name: string): string {
  return name
    .normalize('NFC')
    .trim()
    .toLowerCase()
    .replace(/[^\p{L}\p{Nd}]+/gu, '_')
    .replace(/^_|_$/g, '')
}

/** Whether a name has the form of a system event, `form:*`, which no caller may send. Judged before slugging. */
export function isReservedEventName(name: string): boolean {
  return name.trim().toLowerCase().startsWith('form:')
}
