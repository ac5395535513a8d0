/** Returns whether a text has more than `max` Unicode code points (decisions.md, Words: lengths). */
export function isLongerThan(text: string, max: number): boolean {
  if (text.length <= max) return false
  if (text.length > 2 * max) return true
  let count = 0
  for (const _ of text) count += 1
  return count > max
}
