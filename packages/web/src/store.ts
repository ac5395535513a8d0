/** Storage that outlives a page. Operations never fail: without `localStorage`, values last as long as the page. */
export interface Store {
  readonly get: (name: string) => string | undefined
  /** Stores a value. Returns true if it outlives the page. */
  readonly set: (name: string, value: string) => boolean
  /** Removes a value and returns it. */
  readonly take: (name: string) => string | undefined
  /** Returns the names that begin with this kind, in order. */
  readonly names: (kind: string) => readonly string[]
}

/** Creates a store of values under this prefix. */
export function createStore(prefix: string): Store {
  /** By name with the prefix, as in `localStorage`. */
  const memory = new Map<string, string>()
  const get = (name: string) => attempt((storage) => storage.getItem(prefix + name)) ?? memory.get(prefix + name)
  return {
    get,
    set: (name, value) => {
      const isKept = attempt((storage) => {
        storage.setItem(prefix + name, value)
        return true
      })
      if (!isKept) memory.set(prefix + name, value)
      return !!isKept
    },
    take: (name) => {
      const value = get(name)
      attempt((storage) => storage.removeItem(prefix + name))
      memory.delete(prefix + name)
      return value
    },
    names: (kind) =>
      [...memory.keys(), ...(attempt((storage) => Object.keys(storage)) ?? [])]
        .flatMap((key) => (key.startsWith(prefix + kind) ? key.slice(prefix.length) : []))
        .toSorted(),
  }
}

/** Uses `localStorage`; returns `undefined` if it throws, because it is blocked or full. */
export function attempt<T>(use: (storage: Storage) => T): T | undefined {
  try {
    return use(localStorage)
  } catch {
    return undefined
  }
}
