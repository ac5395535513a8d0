import { decodeRecord, OperatorChangeFact, TOPICS } from '@nextvisit/contracts'
import { type LogConnection, readLog, readWatermarks } from '@nextvisit/log'
import { type ChangeFilter, createChangesPage, type ListedChange, LOOK_AHEAD, type ReadChange } from './changes-page.ts'

export interface ChangesPage {
  /** Newest first. */
  readonly changes: readonly ListedChange[]
  /** `before` of the next page, with older changes. Null: there are none. */
  readonly older: string | null
  /** The oldest instant that was looked at; null: no record was. */
  readonly lookedBackTo: string | null
  /** Number of records that a later version has written, or that are damaged. */
  readonly unreadable: number
}

export interface ChangesQuery extends ChangeFilter {
  /** Offset before which the page ends. Default: the end of the log. */
  readonly before?: string | undefined
  /** Maximum number of changes. */
  readonly limit: number
}

/** Records of one read. A record has at most 40 KB; most have some hundred bytes. */
const WINDOW = 250n
/** A filter that matches little reads so many records for a page. */
const MAX_SCANNED = 5_000n
const GIVE_UP_AFTER_MS = 5_000

/**
 * Reads a page of changes from the log, newest first: at most {@link MAX_SCANNED} records, and {@link LOOK_AHEAD} that follow, for
 * their ends. Rejects if the log does not answer, or has no such topic.
 */
export async function readChanges(
  connection: LogConnection,
  { before, limit, ...filter }: ChangesQuery,
  topic: string = TOPICS.operatorChanges,
): Promise<ChangesPage> {
  const { low = 0n, high = 0n } = (await readWatermarks(connection, topic)).get(0) ?? {}
  const end = before === undefined ? high : least(BigInt(before), high)
  const page = createChangesPage(filter)
  let unreadable = 0
  let lookedBackTo: string | null = null

  async function readRange(from: bigint, until: bigint): Promise<readonly ReadChange[]> {
    const read: ReadChange[] = []
    if (from >= until) return read
    await readLog(connection, {
      topic,
      from: new Map([[0, from]]),
      until: new Map([[0, until]]),
      giveUpAfterMs: GIVE_UP_AFTER_MS,
      withStandIns: true,
      onBatch: ({ records }) => {
        for (const { offset, value, headers } of records) {
          const decoded = decodeRecord(OperatorChangeFact, value, headers)
          if (decoded.outcome === 'ok') read.push({ offset, fact: decoded.fact })
          else unreadable += 1
        }
      },
    })
    return read
  }

  page.lookAhead(await readRange(end, least(end + LOOK_AHEAD, high)))
  unreadable = 0
  let position = end
  const stopAt = greatest(low, end - MAX_SCANNED)
  while (position > stopAt && page.changes.length < limit && !isBefore(lookedBackTo, filter.since)) {
    const until = position
    const from = greatest(stopAt, until - WINDOW)
    position = from
    for (const read of (await readRange(from, until)).toReversed()) {
      page.add(read)
      lookedBackTo = read.fact.at
      if (page.changes.length < limit) continue
      position = read.offset
      break
    }
  }
  const isOver = position <= low || isBefore(lookedBackTo, filter.since)
  return { changes: page.changes, older: isOver ? null : String(position), lookedBackTo, unreadable }
}

/** Returns true once the records are older than a filter wants. Clocks of writers differ by less than a minute. */
function isBefore(at: string | null, since: string | undefined): boolean {
  return at !== null && since !== undefined && Date.parse(at) < Date.parse(since) - CLOCKS_DIFFER_MS
}

const CLOCKS_DIFFER_MS = 60_000

function least(one: bigint, other: bigint): bigint {
  return one < other ? one : other
}

function greatest(one: bigint, other: bigint): bigint {
  return one > other ? one : other
}
