/**
 * Creates a ring buffer of the newest entries. Each has a position. Positions grow from `first`, and dropped
 * entries keep theirs.
 */
export function createEntryBuffer<Entry>(capacity: number, first: number) {
  let kept: { readonly position: number; readonly entry: Entry }[] = []
  let last = first
  return {
    push: (entries: readonly Entry[]): void => {
      for (const entry of entries) kept.push({ position: ++last, entry })
      // In bulk: dropping one at a time would move all of them each time.
      if (kept.length > 2 * capacity) kept = kept.slice(-capacity)
    },
    /** Counts entries that were dropped before they were decoded. */
    skip: (count: number): void => {
      last += count
    },
    /**
     * Reads the entries after a position, newest last. `last`: position of the newest entry, and start of the next read.
     * `skipped`: number of entries since `after` that exceed the buffer or the limit. Without `after`, reads everything, and
     * counts nothing as skipped.
     */
    read: ({ after, isWanted, limit }: BufferQuery<Entry>) => {
      const since = Math.max(after ?? first, first)
      const there = kept.slice(-capacity).filter(({ position }) => position > since)
      const wanted = there.filter(({ entry }) => isWanted(entry)).map(({ entry }) => entry)
      const entries: readonly Entry[] = wanted.slice(-limit)
      const unseen = Math.max(0, last - since) - there.length
      return { entries, last, skipped: after === undefined ? 0 : unseen + wanted.length - entries.length }
    },
  }
}

interface BufferQuery<Entry> {
  readonly after: number | undefined
  readonly isWanted: (entry: Entry) => boolean
  readonly limit: number
}
