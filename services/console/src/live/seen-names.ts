import type { LiveEntry } from './api.ts'

/** Remembers the userNames of recent facts: form events and refusals contain only user ids. */
export function createSeenNames(capacity: number) {
  const names = new Map<string, string>()
  return {
    learn: (entries: readonly LiveEntry[]): void => {
      for (const { userId, userName } of entries) {
        if (userId === null || userName === null) continue
        names.delete(userId)
        names.set(userId, userName)
      }
      const oldest = names.keys()
      for (let excess = names.size - capacity; excess > 0; excess -= 1) names.delete(oldest.next().value ?? '')
    },
    /** Adds the userName, if a fact contained it. */
    name: (entry: LiveEntry): LiveEntry =>
      entry.userName === null && entry.userId !== null
        ? { ...entry, userName: names.get(entry.userId) ?? null }
        : entry,
  }
}
