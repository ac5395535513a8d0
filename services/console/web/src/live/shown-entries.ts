import type { Answer } from '../../../src/api-routes.ts'
import type { LiveEntry } from '../../../src/live/api.ts'

/** Entries of Live on a page. */
export interface ShownEntries {
  /** Newest first. */
  readonly entries: readonly LiveEntry[]
  /** Entries that arrived while the page was paused, newest first. */
  readonly waiting: readonly LiveEntry[]
  /** Number of entries skipped since the page was opened, because there were too many. */
  readonly skipped: number
}

export const NOTHING_SHOWN: ShownEntries = { entries: [], waiting: [], skipped: 0 }

/** More would slow the page down. */
export const MAX_SHOWN = 200

/** Adds an answer. While paused, the screen does not change, except that an erasure removes names. */
export function withAnswer(
  { entries, waiting, skipped }: ShownEntries,
  answer: Pick<Answer<'readLive'>, 'entries' | 'skipped'>,
  isPaused: boolean,
): ShownEntries {
  const all = skipped + answer.skipped
  const erased = new Set(answer.entries.flatMap((entry) => (entry.kind === 'erased' ? userOf(entry) : [])))
  const shown = { entries: withoutNames(entries, erased), waiting: withoutNames(waiting, erased), skipped: all }
  if (isPaused) return { ...shown, waiting: merged(shown.waiting, answer.entries) }
  return { ...shown, entries: merged(shown.entries, answer.entries) }
}

/** Removes the names of users who were erased, also while the page is paused. */
function withoutNames(entries: readonly LiveEntry[], erased: ReadonlySet<string>): readonly LiveEntry[] {
  if (erased.size === 0) return entries
  return entries.map((entry) => (userOf(entry).some((user) => erased.has(user)) ? { ...entry, userName: null } : entry))
}

function userOf({ organization, project, userId }: LiveEntry): readonly string[] {
  return userId === null ? [] : [`${organization}/${project}/${userId}`]
}

/** Ends a pause: adds the entries that arrived meanwhile. */
export function followed({ entries, waiting, skipped }: ShownEntries): ShownEntries {
  return { entries: merged(entries, waiting), waiting: [], skipped }
}

/** Merges entries by id, newest first: a restarted feed repeats some. */
function merged(before: readonly LiveEntry[], added: readonly LiveEntry[]): readonly LiveEntry[] {
  if (added.length === 0) return before
  const byId = new Map([...before, ...added].map((entry) => [entry.id, entry]))
  return [...byId.values()].toSorted(newestFirst).slice(0, MAX_SHOWN)
}

function newestFirst(one: LiveEntry, other: LiveEntry): number {
  if (one.at === other.at) return one.id < other.id ? 1 : -1
  return one.at < other.at ? 1 : -1
}
