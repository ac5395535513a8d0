/** What a viewer has asked for: the last names that were added. */
export interface Revealed {
  readonly add: (name: string) => void
  readonly has: (name: string) => boolean
}

/** Keeps `most` names; one more drops the oldest. */
export function createRevealed(most: number): Revealed {
  const names = new Set<string>()
  return {
    add: (name) => {
      names.delete(name)
      names.add(name)
      const [oldest] = names
      if (names.size > most && oldest !== undefined) names.delete(oldest)
    },
    has: (name) => names.has(name),
  }
}
