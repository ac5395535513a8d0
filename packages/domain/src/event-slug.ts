/** Words of digits and letters. Marks belong to the letter before them: `ปี` and `ปู` differ only in their marks. */
const WORDS = /(?:\p{L}\p{M}*|\p{Nd})+/gu
/**
 * Marks that choose a glyph, or only join others: `❤️` has one. And format characters before a mark, which still belongs to the
 * letter before them: Bengali `র‍্যাব` has a joiner there.
 */
const INVISIBLE = /\p{Variation_Selector}|\u034f|\p{Cf}+(?=\p{M})/gu

/**
 * Returns the identity of an event: `Checkout Completed` and `checkout_completed` are one (decisions.md, Track event). Empty
 * for a name without a letter or digit. A slug can be `__proto__`: never index a plain object by it.
 */
export function eventSlug(name: string): string {
  // Composed last, since some letters have a composed form in lower case only: `H̱` and `ẖ`.
  const letters = name.replace(INVISIBLE, '').toLowerCase().normalize('NFC')
  return letters.match(WORDS)?.join('_') ?? ''
}

/** Returns whether a name belongs to system events: no caller may send `form:*`. Check it before slugging. */
export function isReservedEventName(name: string): boolean {
  return name.trim().toLowerCase().startsWith('form:')
}
