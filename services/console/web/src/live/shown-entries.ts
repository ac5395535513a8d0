import type { LiveAnswer, LiveEntry } from '../../../src/live/api.ts'

/** What a page shows of Live. No zod here: pages import it. */
export interface ShownEntries {
  /** The newest first. */
  readonly entries: readonly LiveEntry[]
  /** What came while the page was paused; the newest first. */
  readonly waiting: readonly LiveEntry[]
  /** How many were left out since the page was opened, as there were too many. */
  readonly skipped: number
}

export const NOTHING_SHOWN: ShownEntries = { entries: [], waiting: [], skipped: 0 }

/** More would make the page slow, and nobody reads them. */
export const MAX_SHOWN = 200

/** With the next answer. Paused, what is on the screen stays as it is. */
export function withAnswer(
  { entries, waiting, skipped }: ShownEntries,
  answer: Pick<LiveAnswer, 'entries' | 'skipped'>,
  isPaused: boolean,
): ShownEntries {
  const all = skipped + answer.skipped
  if (isPaused) return { entries, waiting: merged(waiting, answer.entries), skipped: all }
  return { entries: merged(entries, answer.entries), waiting, skipped: all }
}

/** What has come meanwhile is shown, too. */
export function followed({ entries, waiting, skipped }: ShownEntries): ShownEntries {
  return { entries: merged(entries, waiting), waiting: [], skipped }
}

/** The newest of both, each once: a feed that begins again says some things twice. */
function merged(before: readonly LiveEntry[], added: readonly LiveEntry[]): readonly LiveEntry[] {
  if (added.length === 0) return before
  const byId = new Map([...before, ...added].map((entry) => [entry.id, entry]))
  return [...byId.values()].toSorted(newestFirst).slice(0, MAX_SHOWN)
}

function newestFirst(one: LiveEntry, other: LiveEntry): number {
  if (one.at === other.at) return one.id < other.id ? 1 : -1
  return one.at < other.at ? 1 : -1
}
