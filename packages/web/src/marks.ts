/** By then every tab sees what another one stored, also on a busy machine. */
const SEEN_WITHIN_MS = 5_000

/** What a tab has done in the last seconds. All tabs know it at once, while they see what is stored only a moment later. */
export interface Marks {
  /** Whether this was not marked. `true` where there are no locks: without https, and in pages that have no storage. */
  readonly mark: (name: string) => Promise<boolean>
  readonly isMarked: (name: string) => Promise<boolean>
}

/** A mark is a lock under this prefix, held for some seconds. It ends with its page. */
export function createMarks(prefix: string): Marks {
  return {
    mark: (name) =>
      new Promise<boolean>((resolve, reject) => {
        const hold = (lock: unknown) => {
          resolve(!!lock)
          return lock && new Promise((end) => setTimeout(end, SEEN_WITHIN_MS))
        }
        navigator.locks.request(prefix + name, { ifAvailable: true }, hold).catch(reject)
      }).catch(() => true),
    isMarked: async (name) => {
      try {
        return (await navigator.locks.query()).held?.some((lock) => lock.name === prefix + name) ?? false
      } catch {
        return false
      }
    },
  }
}
