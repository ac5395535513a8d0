import type { LiveEntry } from './api.ts'

export interface SeenNames {
  readonly learn: (entries: readonly LiveEntry[]) => void
  /** With the userName, where a fact has told it. */
  readonly name: (entry: LiveEntry) => LiveEntry
}

/** What users are called whom facts have named of late: decisions on forms and refusals know only their ids. */
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
