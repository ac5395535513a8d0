/** Returns the slug of an event: lower case, with runs of other characters replaced by `_` (docs/spec/decisions.md, Track event). */
export function slugOf(event: string): string {
  const words =
    event
      .normalize('NFC')
      .toLowerCase()
      .match(/[\p{L}\p{Nd}]+/gu) ?? []
  return words.join('_')
}
