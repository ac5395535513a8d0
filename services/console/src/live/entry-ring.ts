/** Entries of a ring since a position. */
interface RingPart<Entry> {
  /** Newest last. */
  readonly entries: readonly Entry[]
  /** Position of the newest entry, and start of the next read. */
  readonly last: number
  /** Number of entries since then that are missing, because they exceed the ring or the limit. */
  readonly skipped: number
}

export interface ReadOptions<Entry> {
  /** undefined: read everything, and count nothing as skipped. */
  readonly after: number | undefined
  readonly isWanted: (entry: Entry) => boolean
  readonly limit: number
}

export interface EntryRing<Entry> {
  readonly push: (entries: readonly Entry[]) => void
  /** Counts entries that were dropped before they were decoded. */
  readonly skip: (count: number) => void
  readonly read: (options: ReadOptions<Entry>) => RingPart<Entry>
}

/** Creates a ring of the newest entries. Each has a position; positions grow from `first`, including those of dropped entries. */
export function createEntryRing<Entry>(capacity: number, first: number): EntryRing<Entry> {
  let kept: { readonly position: number; readonly entry: Entry }[] = []
  let last = first
  return {
    push: (entries) => {
      for (const entry of entries) kept.push({ position: ++last, entry })
      // In bulk: dropping one at a time would move all of them each time.
      if (kept.length > 2 * capacity) kept = kept.slice(-capacity)
    },
    skip: (count) => {
      last += count
    },
    read: ({ after, isWanted, limit }) => {
      const since = Math.max(after ?? first, first)
      const there = kept.slice(-capacity).filter(({ position }) => position > since)
      const wanted = there.filter(({ entry }) => isWanted(entry)).map(({ entry }) => entry)
      const entries = wanted.slice(-limit)
      const unseen = Math.max(0, last - since) - there.length
      return { entries, last, skipped: after === undefined ? 0 : unseen + wanted.length - entries.length }
    },
  }
}
