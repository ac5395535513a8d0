import { setTimeout as sleep } from 'node:timers/promises'
import { HEADERS, TOPICS } from '@nextvisit/contracts'
import type { FetchedRecord } from '@nextvisit/log'
import type { Answer } from '../api-routes.ts'
import type { Dependencies } from '../dependencies.ts'
import { isLate } from '../shared-with-pages.ts'
import { type ConsumerProgress, type FoldedUpTo, foldedUpTo, withLastReports } from './folded-up-to.ts'
import { followTopic } from './follow-topic.ts'
import { formEntriesOf, type KeptEntry, type LiveQuery, userEntriesOf, userFactOf } from './live-entries.ts'
import { createLiveBuffers } from './live-buffers.ts'
import { createNewRefusals } from './new-refusals.ts'
import { createPendingRecords } from './pending-records.ts'
import type { ShownUsers } from './shown-users.ts'

interface LiveFeedParts extends Pick<Dependencies, 'connection' | 'readRefusals' | 'nowMs' | 'logger'> {
  /** Reads how far each consumer has folded the log. */
  readonly readProgress: () => Promise<readonly ConsumerProgress[]>
  readonly shownUsers: Pick<ShownUsers, 'erase'>
  /** For specs, which use their own topics. */
  readonly topics?: { readonly userEvents: string; readonly formEvents: string }
}

export interface LiveReading extends Omit<Answer<'readLive'>, 'refusals' | 'entries'> {
  /** Newest first; their users are not named. */
  readonly entries: readonly KeptEntry[]
  /** The last read of refusals succeeded. */
  readonly hasRefusals: boolean
}

export interface LiveFeed {
  /** Returns entries. Each call keeps the feed following the log for a while. */
  readonly read: (query: LiveQuery) => LiveReading
  readonly stop: () => Promise<void>
}

/** The feed stops this long after the last read. A page reads every second. */
const WATCHED_MS = 10_000
const RELEASE_EVERY_MS = 700
const REFUSALS_EVERY_MS = 2_000
const NEWEST = { userEvents: 100, formEvents: 50 }
/** Maximum number of records decoded at a time. During a burst older ones are skipped. */
const DECODED_AT_ONCE = 4_000
const PENDING = { maxRecords: 20_000, maxBytes: 16 * 2 ** 20 }

/** Creates the feed of folded facts, form events and refusals. While no page is open, it reads and holds nothing. */
export function createLiveFeed(parts: LiveFeedParts): LiveFeed {
  let watch: (LiveFeed & { readonly isOver: () => boolean }) | undefined
  /** Includes reports to earlier watches. */
  let last: readonly ConsumerProgress[] = []
  const readFolded = async () => {
    const progress = await parts.readProgress()
    last = withLastReports(progress, last)
    return foldedUpTo(progress, last)
  }
  return {
    read: (query) => {
      if (!watch || watch.isOver()) watch = startWatch(parts, readFolded)
      return watch.read(query)
    },
    stop: async () => watch?.stop(),
  }
}

/** Follows the log from the first read until {@link WATCHED_MS} after the last one. */
function startWatch(parts: LiveFeedParts, readFolded: () => Promise<FoldedUpTo>) {
  const { connection, shownUsers, nowMs, topics = TOPICS } = parts
  const ending = new AbortController()
  const { signal } = ending
  const buffers = createLiveBuffers(nowMs() * 1_000)
  const foldedFacts = createFoldedFacts(buffers.facts, readFolded)
  const refusals = createNewRefusals({
    ...parts,
    requestedForMs: WATCHED_MS,
    onEntries: buffers.refusals.push,
    signal,
  })
  const current = new Set<string>()
  const unavailable = new Set<string>()
  let [readAtMs, hasReleased] = [nowMs(), false]

  const isWatched = () => nowMs() - readAtMs < WATCHED_MS

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

  /** Erasures appear although a consumer is halted: pages hide the names that they show. */
  function showErasures(records: readonly FetchedRecord[]): void {
    for (const record of records) {
      const fact = userFactOf(record)
      if (fact?.type === 'UserErased') shownUsers.erase(fact, record.offset)
    }
    buffers.facts.push(records.flatMap(userEntriesOf))
  }

  async function release(): Promise<void> {
    await foldedFacts.release()
    if (current.size === 2) hasReleased = true
  }

  const repeating = { ...parts, isWatched, signal }
  const running = Promise.all([
    follow(topics.userEvents, NEWEST.userEvents, (partition, records) => {
      const erasures = records.filter(isErasure)
      showErasures(erasures)
      foldedFacts.add(partition, erasures.length === 0 ? records : records.filter((record) => !isErasure(record)))
    }),
    follow(topics.formEvents, NEWEST.formEvents, (_, records) => {
      const newest = records.slice(-DECODED_AT_ONCE)
      buffers.formEvents.skip(records.length - newest.length)
      buffers.formEvents.push(newest.flatMap(formEntriesOf))
    }),
    repeat(RELEASE_EVERY_MS, release, repeating).finally(() => ending.abort()),
    repeat(REFUSALS_EVERY_MS, refusals.read, repeating).finally(() => ending.abort()),
  ])

  return {
    read: (query: LiveQuery): LiveReading => {
      readAtMs = nowMs()
      refusals.request(query.refusalsOf)
      const { cursor, ...part } = buffers.read(query)
      const { furthest, silent } = foldedFacts.foldedUpTo()
      return {
        ...part,
        cursor: hasReleased ? cursor : null,
        state: unavailable.size > 0 ? 'no-log' : hasReleased ? 'follows' : 'starting',
        behind: furthest && isLate(furthest.seconds) ? furthest : null,
        silent: [...silent],
        hasRefusals: refusals.isAvailable(),
      }
    },
    isOver: () => signal.aborted || !isWatched(),
    stop: async () => {
      ending.abort()
      await running
    },
  }
}

function isErasure({ headers }: FetchedRecord): boolean {
  return headers[HEADERS.type] === 'UserErased'
}

/** Holds the records of `user-events` back until every consumer has folded them. */
function createFoldedFacts(
  facts: ReturnType<typeof createLiveBuffers>['facts'],
  readFolded: () => Promise<FoldedUpTo>,
) {
  const pending = createPendingRecords(PENDING)
  let folded = foldedUpTo([])

  return {
    add: pending.add,
    /** Moves the folded records to the buffer `facts`. */
    release: async (): Promise<void> => {
      folded = await readFolded()
      const { records, dropped } = pending.take(folded.offsets)
      const newest = records.toSorted((one, other) => one.timestampMs - other.timestampMs).slice(-DECODED_AT_ONCE)
      facts.skip(dropped + records.length - newest.length)
      facts.push(newest.flatMap(userEntriesOf))
    },
    /** The position of the last release. */
    foldedUpTo: () => folded,
  }
}

interface RepeatOptions extends Pick<Dependencies, 'logger'> {
  readonly isWatched: () => boolean
  readonly signal: AbortSignal
}

/** Repeats some work until no page watches. Logs the first of consecutive failures. */
async function repeat(
  everyMs: number,
  work: () => Promise<void>,
  { isWatched, signal, logger }: RepeatOptions,
): Promise<void> {
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
    await sleep(everyMs, undefined, { signal }).catch(() => undefined)
  }
}
