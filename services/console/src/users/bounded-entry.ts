import { firstCharacters, isLongerThan } from '@nextvisit/contracts'
import type { TimelineEntry } from './api.ts'

/** Bounds of one entry, in characters. An event has 32 KB of properties, and records of other programs may have more. */
const MAX_TITLE = 300
const MAX_NAME = 200
const MAX_VALUE = 500
const MAX_DETAILS = 4_000

/** Cuts long values of an entry, drops details beyond its bound, and says so in it. */
export function boundedEntry<Entry extends TimelineEntry>(entry: Entry): Entry {
  const details: TimelineEntry['details'] = []
  let characters = 0
  for (const detail of entry.details) {
    if (characters > MAX_DETAILS) break
    const shown = boundedDetail(detail)
    characters += shown.name.length + shown.value.length
    details.push(shown)
  }
  const moreDetails = entry.details.length - details.length
  return { ...entry, title: shortText(entry.title, MAX_TITLE), details, ...(moreDetails > 0 && { moreDetails }) }
}

function boundedDetail(detail: TimelineEntry['details'][number]): TimelineEntry['details'][number] {
  const { name, value } = detail
  const short = { ...detail, name: shortText(name, MAX_NAME) }
  if (!isLongerThan(value, MAX_VALUE)) return short
  return { ...short, value: firstCharacters(value, MAX_VALUE), cutFromBytes: Buffer.byteLength(value) }
}

/** Cuts a text that is usually short. */
export function shortText(text: string, max = MAX_TITLE): string {
  return isLongerThan(text, max) ? `${firstCharacters(text, max)}…` : text
}

/** Returns the size of an entry in an answer. */
export function bytesOfEntry(entry: TimelineEntry): number {
  return Buffer.byteLength(JSON.stringify(entry))
}

/** Returns the first entries, the newest, that together have at most `maxBytes`. */
export function entriesWithin(entries: readonly TimelineEntry[], maxBytes: number): readonly TimelineEntry[] {
  let bytes = 0
  const end = entries.findIndex((entry) => {
    bytes += bytesOfEntry(entry)
    return bytes > maxBytes
  })
  return end === -1 ? entries : entries.slice(0, end)
}
