/**
 * Returns a pseudonym for a user of a key: 64 bits of a hash (FNV-1a with two primes), so that users of one browser never
 * share stored values. It is not secret: a guessed userName can be verified.
 */
export function userScope(key: string, userName: string): string {
  let one = 0x811c9dc5
  let other = 0x41c6ce57
  for (const character of `${key} ${userName}`) {
    const code = character.codePointAt(0) as number
    one = Math.imul(one ^ code, 16_777_619)
    other = Math.imul(other ^ code, 1_597_334_677)
  }
  return [one, other].map((half) => (half >>> 0).toString(36)).join('-')
}
