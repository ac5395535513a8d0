/** What a ring has since a position. */
export interface RingPart<Entry> {
  /** The newest last. */
  readonly entries: readonly Entry[]
  /** The position of the newest: where to ask next. */
  readonly last: number
  /** How many came since then that are not in `entries`: too many for the ring, or for the asker. */
  readonly skipped: number
}

export interface ReadOptions<Entry> {
  /** Absent: everything that is there, and nothing counts as skipped. */
  readonly after: number | undefined
  readonly isWanted: (entry: Entry) => boolean
  readonly limit: number
}

export interface EntryRing<Entry> {
  readonly push: (entries: readonly Entry[]) => void
  /** So many came that were not looked at. */
  readonly skip: (count: number) => void
  readonly read: (options: ReadOptions<Entry>) => RingPart<Entry>
}

/** The newest entries, bounded. Each has a position; positions only grow, from `first`, also of those that are gone. */
export function createEntryRing<Entry>(capacity: number, first: number): EntryRing<Entry> {
  let kept: { readonly position: number; readonly entry: Entry }[] = []
  let last = first
  return {
    push: (entries) => {
      for (const entry of entries) kept.push({ position: ++last, entry })
      // Not one by one: that would move all of them each time.
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
