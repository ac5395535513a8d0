/** Time in ms after which every tab sees the storage of others, even on a busy machine. */
const SEEN_WITHIN_MS = 5_000

/** Marks of recent actions, which all tabs see at once; storage becomes visible only a moment later. */
export interface Marks {
  /** Sets a mark. Resolves to true if it was unset, or without locks: without https or storage. */
  readonly mark: (name: string) => Promise<boolean>
  readonly isMarked: (name: string) => Promise<boolean>
  /**
   * Runs one request at a time over all tabs, so that a visit in flight in another tab does not count as unanswered.
   * `run` never rejects.
   */
  readonly alone: <T>(run: () => Promise<T>) => Promise<T>
}

/** Creates marks as locks with this prefix. A lock is held for some seconds, and ends with its page. */
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
        const { held = [] } = await navigator.locks.query()
        return held.some((lock) => lock.name === prefix + name)
      } catch {
        return false
      }
    },
    alone: async (run) => {
      try {
        return await navigator.locks.request(prefix, run)
      } catch {
        return run()
      }
    },
  }
}
