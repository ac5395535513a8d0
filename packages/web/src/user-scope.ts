/**
 * Returns a pseudonym for a user of a key: 64 bits of a hash (FNV-1a with two primes), so that users of one browser never
 * share stored values. It is not secret: a guessed userName can be verified.
 */
export function userScope(key: string, userName: string): string {
  const text = [...`${key} ${userName}`]
  const primes = [
    [0x811c9dc5, 16_777_619],
    [0x41c6ce57, 1_597_334_677],
  ] as const
  const halves = primes.map(([basis, prime]) =>
    text.reduce<number>((hash, character) => Math.imul(hash ^ (character.codePointAt(0) as number), prime), basis),
  )
  return halves.map((half) => (half >>> 0).toString(36)).join('-')
}
