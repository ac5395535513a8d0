import { firstCharacters, isLongerThan } from '@nextvisit/contracts'

/** A condition of the workspace file may list thousands of values. */
const MAX_CHARACTERS = 1_000

/** Cuts a condition in words to a length that a page can show. */
export function shortened(words: string): string {
  return isLongerThan(words, MAX_CHARACTERS) ? `${firstCharacters(words, MAX_CHARACTERS)} …` : words
}
