/**
 * Returns a pseudonym for a user of a key: 64 bits of a hash (FNV-1a with two primes), so that users of one browser never
 * share stored values. It is not secret: a guessed userName can be verified.
 */
export function userScope(key: string, userName: string): string {
  const codes = Array.from(`${key} ${userName}`, (character) => character.codePointAt(0) as number)
  const starts = [
    [0x811c9dc5, 16_777_619],
    [0x41c6ce57, 1_597_334_677],
  ] as const
  const halves = starts.map(([start, prime]) =>
    (codes.reduce<number>((hash, code) => Math.imul(hash ^ code, prime), start) >>> 0).toString(36),
  )
  return halves.join('-')
}
