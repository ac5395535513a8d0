import type { LiveEntry } from './api.ts'

interface SeenNames {
  readonly learn: (entries: readonly LiveEntry[]) => void
  /** Adds the userName, if a fact contained it. */
  readonly name: (entry: LiveEntry) => LiveEntry
}

/** Remembers the userNames of recent facts: form events and refusals contain only user ids. */
export function createSeenNames(capacity: number): SeenNames {
  const names = new Map<string, string>()
  return {
    learn: (entries) => {
      for (const { userId, userName } of entries) {
        if (userId === null || userName === null) continue
        names.delete(userId)
        names.set(userId, userName)
      }
      const oldest = names.keys()
      for (let excess = names.size - capacity; excess > 0; excess -= 1) names.delete(oldest.next().value ?? '')
    },
    name: (entry) =>
      entry.userName === null && entry.userId !== null
        ? { ...entry, userName: names.get(entry.userId) ?? null }
        : entry,
  }
}
