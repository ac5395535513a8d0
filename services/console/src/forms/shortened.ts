/** A condition of the workspace file may hold thousands of values. */
const MAX_CHARACTERS = 1_000

/** A condition in words, for a page. */
export function shortened(words: string): string {
  return words.length > MAX_CHARACTERS ? `${words.slice(0, MAX_CHARACTERS)} …` : words
}
