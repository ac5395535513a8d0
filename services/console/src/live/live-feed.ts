import { setTimeout as sleep } from 'node:timers/promises'
import { type KeptRefusal, type ProjectRef, TOPICS } from '@nextvisit/contracts'
import type { LogConnection } from '@nextvisit/log'
import type { Logger } from '@nextvisit/service-kit'
import { isLate } from '../overview/is-late.ts'
import type { LiveAnswer, LiveEntry } from './api.ts'
import { createEntryRing, type EntryRing } from './entry-ring.ts'
import { type ConsumerProgress, type FoldedUpTo, foldedUpTo, orLast } from './folded-up-to.ts'
import { followTopic } from './follow-topic.ts'
import {
  formEntriesOf,
  type KeptEntry,
  type LiveFilter,
  passesFilter,
  refusalEntry,
  userEntriesOf,
} from './live-entries.ts'
import { createPendingRecords } from './pending-records.ts'
import { createSeenNames } from './seen-names.ts'

interface LiveFeedParts {
  readonly connection: LogConnection
  /** Reads how far each consumer has folded the log. */
  readonly readProgress: () => Promise<readonly ConsumerProgress[]>
  /** Reads the latest refusals of a project; undefined: unavailable. */
  readonly readRefusals: (project: ProjectRef) => Promise<readonly KeptRefusal[] | undefined>
  readonly nowMs: () => number
  readonly logger: Logger
  /** For specs, which use their own topics. */
  readonly topics?: { readonly userEvents: string; readonly formEvents: string }
}

export interface LiveLook extends LiveFilter {
  readonly after: string | undefined
}

export interface LiveSeen extends Omit<LiveAnswer, 'entries' | 'refusals'> {
  /** Newest first. */
  readonly entries: readonly LiveEntry[]
  /** The last read of refusals succeeded. */
  readonly hasRefusals: boolean
}

export interface LiveFeed {
  /** Returns entries. Each call keeps the feed reading the log for a while. */
  readonly look: (look: LiveLook) => LiveSeen
  readonly stop: () => Promise<void>
}

/** The feed stops this long after the last look. A page asks every second. */
const LOOKING_MS = 10_000
const RELEASE_EVERY_MS = 700
const REFUSALS_EVERY_MS = 2_000
const NEWEST = { userEvents: 100, formEvents: 50 }
/** Size of each ring: at 2,000 entries a second a page that asks every second misses none. */
const KEPT = 4_000
const ANSWERED = 100
/** Maximum number of records decoded at a time. During a burst older ones are skipped. */
const DECODED_AT_ONCE = 4_000
const PENDING = { maxRecords: 20_000, maxBytes: 16 * 2 ** 20 }

/** Creates the feed of folded facts, form events and refusals. While no page is open, it reads and holds nothing. */
export function createLiveFeed(parts: LiveFeedParts): LiveFeed {
  let watch: Watch | undefined
  /** Includes reports to earlier watches. */
  let last: readonly ConsumerProgress[] = []
  const readFolded = async () => {
    const said = await parts.readProgress()
    last = orLast(said, last)
    return foldedUpTo(said, last)
  }
  return {
    look: (look) => {
      if (!watch || watch.isOver()) watch = startWatch({ ...parts, readFolded })
      return watch.look(look)
    },
    stop: async () => watch?.stop(),
  }
}

interface WatchParts extends Omit<LiveFeedParts, 'readProgress'> {
  readonly readFolded: () => Promise<FoldedUpTo>
}

interface Watch {
  readonly look: LiveFeed['look']
  readonly isOver: () => boolean
  readonly stop: () => Promise<void>
}

interface Rings {
  readonly facts: EntryRing<KeptEntry>
  readonly decisions: EntryRing<KeptEntry>
  readonly refusals: EntryRing<KeptEntry>
}

/** Follows the log from the first look until {@link LOOKING_MS} after the last one. */
function startWatch(parts: WatchParts): Watch {
  const { connection, readFolded, readRefusals, nowMs, logger, topics = TOPICS } = parts
  const ending = new AbortController()
  const { signal } = ending
  const ring = () => createEntryRing<KeptEntry>(KEPT, nowMs() * 1_000)
  const rings: Rings = { facts: ring(), decisions: ring(), refusals: ring() }
  const names = createSeenNames(KEPT)
  const pending = createPendingRecords(PENDING)
  const known = new Map<string, ReadonlySet<string>>()
  const asked = new Map<string, { readonly project: ProjectRef; readonly atMs: number }>()
  const current = new Set<string>()
  const unavailable = new Set<string>()
  let progress = foldedUpTo([])
  let [lookedAtMs, hasReleased, hasRefusals] = [nowMs(), false, true]

  const isWatched = () => nowMs() - lookedAtMs < LOOKING_MS

  const follow = (topic: string, newest: number, onRecords: Parameters<typeof followTopic>[0]['onRecords']) =>
    followTopic({
      connection,
      topic,
      newest,
      onRecords,
      onCurrent: () => current.add(topic),
      onLog: (isThere) => (isThere ? unavailable.delete(topic) : unavailable.add(topic)),
      signal,
    })

  async function release(): Promise<void> {
    progress = await readFolded()
    const { records, dropped } = pending.take(progress.offsets)
    const newest = records.toSorted((one, other) => one.timestampMs - other.timestampMs).slice(-DECODED_AT_ONCE)
    rings.facts.skip(dropped + records.length - newest.length)
    const entries = newest.flatMap(userEntriesOf)
    names.learn(entries.map(({ entry }) => entry))
    rings.facts.push(entries)
    if (current.size === 2) hasReleased = true
  }

  async function takeRefusals(): Promise<void> {
    for (const [name, { project, atMs }] of asked) {
      if (signal.aborted) return
      if (nowMs() - atMs > LOOKING_MS) {
        asked.delete(name)
        continue
      }
      const refusals = await readRefusals(project)
      hasRefusals = refusals !== undefined
      if (!refusals) return
      const before = known.get(name)
      known.set(name, new Set(refusals.map(({ id }) => id)))
      const added = refusals.filter(({ id }) => !before?.has(id)).toReversed()
      rings.refusals.push(added.map((refusal) => refusalEntry(project, refusal)))
    }
  }

  async function every(ms: number, work: () => Promise<void>): Promise<void> {
    let isFailing = false
    while (isWatched() && !signal.aborted) {
      try {
        await work()
        isFailing = false
      } catch (err) {
        // Rethrown, it would be an unhandled rejection and end the process.
        if (!isFailing) logger.error({ err }, `Live: ${work.name} failed; retrying`)
        isFailing = true
      }
      await sleep(ms, undefined, { signal }).catch(() => undefined)
    }
    ending.abort()
  }

  const running = Promise.all([
    follow(topics.userEvents, NEWEST.userEvents, pending.add),
    follow(topics.formEvents, NEWEST.formEvents, (_, records) => {
      const newest = records.slice(-DECODED_AT_ONCE)
      rings.decisions.skip(records.length - newest.length)
      rings.decisions.push(newest.flatMap(formEntriesOf))
    }),
    every(RELEASE_EVERY_MS, release),
    every(REFUSALS_EVERY_MS, takeRefusals),
  ])

  return {
    look: ({ after, ...filter }) => {
      lookedAtMs = nowMs()
      for (const project of filter.refusalsOf)
        asked.set(`${project.organization}/${project.project}`, { project, atMs: lookedAtMs })
      const { entries, skipped, cursor } = read(rings, after, filter)
      return {
        cursor: hasReleased ? cursor : null,
        skipped,
        entries: entries.map(names.name),
        state: unavailable.size > 0 ? 'no-log' : hasReleased ? 'follows' : 'starting',
        behind: progress.furthest && isLate(progress.furthest.seconds) ? progress.furthest : null,
        silent: [...progress.silent],
        hasRefusals,
      }
    },
    isOver: () => signal.aborted || !isWatched(),
    stop: async () => {
      ending.abort()
      await running
    },
  }
}

/** The cursor contains the position in each ring. */
function read(
  rings: Rings,
  after: string | undefined,
  filter: LiveFilter,
): Pick<LiveSeen, 'entries' | 'skipped'> & { readonly cursor: string } {
  const positions = after?.split('.').map(Number)
  const found = [rings.facts, rings.decisions, rings.refusals].map((ring, index) =>
    ring.read({ after: positions?.[index], isWanted: (entry) => passesFilter(entry, filter), limit: ANSWERED }),
  )
  const all = found
    .flatMap(({ entries }) => entries.map(({ entry }) => entry))
    .toSorted((one, other) => (one.at < other.at ? 1 : -1))
  const entries = all.slice(0, ANSWERED)
  const counted = filter.refusalsOf.length > 0 ? found : found.slice(0, 2)
  const skipped = counted.reduce((sum, part) => sum + part.skipped, 0)
  return {
    cursor: found.map(({ last }) => last).join('.'),
    entries,
    skipped: after === undefined ? 0 : skipped + all.length - entries.length,
  }
}
