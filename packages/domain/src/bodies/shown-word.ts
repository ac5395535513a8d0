/** A caller's word in a message, cut where it is long. */
export function shownWord(word: string): string {
  return word.length > 40 ? `${word.slice(0, 40).toWellFormed()}…` : word
}
