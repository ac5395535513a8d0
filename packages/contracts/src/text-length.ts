/** Returns whether a text has more than `max` Unicode code points (decisions.md, Words: lengths). */
export function isLongerThan(text: string, max: number): boolean {
  if (text.length <= max) return false
  if (text.length > 2 * max) return true
  let count = 0
  for (const _ of text) count += 1
  return count > max
}

/** Returns the first `max` Unicode code points of a text. A cut text does not keep the whole one in memory. */
export function firstCharacters(text: string, max: number): string {
  if (!isLongerThan(text, max)) return text
  return Array.from(text.slice(0, 2 * max))
    .slice(0, max)
    .join('')
}
