/** The identity of an event: lower case, everything but letters and digits one `_` (docs/spec/decisions.md, Track event). */
export function slugOf(event: string): string {
  const words =
    event
      .normalize('NFC')
      .toLowerCase()
      .match(/[\p{L}\p{Nd}]+/gu) ?? []
  return words.join('_')
}
