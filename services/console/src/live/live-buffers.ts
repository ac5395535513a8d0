import { createEntryBuffer } from './entry-buffer.ts'
import { type KeptEntry, type LiveQuery, passesFilter } from './live-entries.ts'

/** Size of each buffer: at 2,000 entries a second a page that asks every second misses none. */
const KEPT = 4_000
const MAX_ANSWERED = 100

/** Creates a buffer for each origin of entries. Their positions grow from `firstPosition`. */
export function createLiveBuffers(firstPosition: number) {
  const createBuffer = () => createEntryBuffer<KeptEntry>(KEPT, firstPosition)
  const [facts, formEvents, refusals] = [createBuffer(), createBuffer(), createBuffer()]

  return {
    facts,
    formEvents,
    refusals,
    /** Reads entries, newest first. The cursor contains the position in each buffer. */
    read: ({ after, ...filter }: LiveQuery) => {
      const positions = after?.split('.').map(Number)
      const found = [facts, formEvents, refusals].map((buffer, index) =>
        buffer.read({
          after: positions?.[index],
          isWanted: (entry) => passesFilter(entry, filter),
          limit: MAX_ANSWERED,
        }),
      )
      const all = found
        .flatMap((part) => part.entries)
        .toSorted((one, other) => (one.entry.at < other.entry.at ? 1 : -1))
      const entries = all.slice(0, MAX_ANSWERED)
      const counted = filter.refusalsOf.length > 0 ? found : found.slice(0, 2)
      const skipped = counted.reduce((sum, part) => sum + part.skipped, 0)
      return {
        cursor: found.map(({ last }) => last).join('.'),
        entries,
        skipped: after === undefined ? 0 : skipped + all.length - entries.length,
      }
    },
  }
}
