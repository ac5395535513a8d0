/** What must outlive a page. Every operation works: without `localStorage`, what is written lasts as long as the page. */
export interface Store {
  readonly get: (name: string) => string | undefined
  /** Whether it outlives the page. */
  readonly set: (name: string, value: string) => boolean
  /** Removes a value and returns it. */
  readonly take: (name: string) => string | undefined
  /** The names that begin like this, in order. */
  readonly names: (beginning: string) => readonly string[]
}

/** Keeps values under this prefix. */
export function createStore(prefix: string): Store {
  const memory = new Map<string, string>()
  const get = (name: string) => attempt((storage) => storage.getItem(prefix + name)) ?? memory.get(name)
  return {
    get,
    set: (name, value) => {
      const isKept = attempt((storage) => {
        storage.setItem(prefix + name, value)
        return true
      })
      if (!isKept) memory.set(name, value)
      return isKept === true
    },
    take: (name) => {
      const value = get(name)
      attempt((storage) => storage.removeItem(prefix + name))
      memory.delete(name)
      return value
    },
    names: (beginning) => {
      const kept = attempt((storage) => Object.keys(storage)) ?? []
      const all = [...memory.keys(), ...kept.flatMap((key) => (key.startsWith(prefix) ? key.slice(prefix.length) : []))]
      return all.filter((name) => name.startsWith(beginning)).toSorted()
    },
  }
}

/** `undefined` where `localStorage` can't be used: some browsers block it, and it may be full. Then it throws. */
function attempt<T>(use: (storage: Storage) => T): T | undefined {
  try {
    return use(localStorage)
  } catch {
    return undefined
  }
}
