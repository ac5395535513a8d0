import { decodeRecord, OperatorChangeFact, TOPICS } from '@nextvisit/contracts'
import { bytesOfRecord, type LogConnection, readLog, readWatermarks, unlessAborted } from '@nextvisit/log'
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
  /** Ends the reading: the page then has what was read, and the call rejects if that is nothing. */
  readonly signal?: AbortSignal | undefined
}

/** Records of one read. Most have some hundred bytes. */
const WINDOW = 250n
/** A filter that matches little reads so many records for a page. */
const MAX_SCANNED = 5_000n
/** Another read begins only below so many bytes. */
const MAX_SCANNED_BYTES = 16 * 2 ** 20
/** Above the size of every record that our programs write. Larger ones are not decoded. */
const MAX_RECORD_BYTES = 256 * 2 ** 10
const GIVE_UP_AFTER_MS = 5_000

/**
 * Reads a page of changes from the log, newest first: at most {@link MAX_SCANNED} records or {@link MAX_SCANNED_BYTES}, and
 * {@link LOOK_AHEAD} records that follow, for their ends. Rejects if the log does not answer, or has no such topic.
 */
export async function readChanges(
  connection: LogConnection,
  { before, limit, signal, ...filter }: ChangesQuery,
  topic: string = TOPICS.operatorChanges,
): Promise<ChangesPage> {
  const reading = readWatermarks(connection, topic)
  const watermarks = await (signal ? unlessAborted(reading, signal) : reading)
  const { low = 0n, high = 0n } = watermarks.get(0) ?? {}
  const end = before === undefined ? high : least(BigInt(before), high)
  const page = createChangesPage(filter)
  let [unreadable, bytes] = [0, 0]
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
      ...(signal && { signal }),
      onBatch: ({ records }) => {
        for (const record of records) {
          const { offset, value, headers } = record
          const size = bytesOfRecord(record)
          bytes += size
          const decoded = size > MAX_RECORD_BYTES ? undefined : decodeRecord(OperatorChangeFact, value, headers)
          if (decoded?.outcome === 'ok') read.push({ offset, fact: decoded.fact })
          else unreadable += 1
        }
      },
    })
    signal?.throwIfAborted()
    return read
  }

  page.lookAhead(await readRange(end, least(end + LOOK_AHEAD, high)))
  ;[unreadable, bytes] = [0, 0]
  let position = end
  const stopAt = greatest(low, end - MAX_SCANNED)
  const isFull = () => page.changes.length >= limit || bytes >= MAX_SCANNED_BYTES
  while (position > stopAt && !isFull() && !isBefore(lookedBackTo, filter.since)) {
    const until = position
    const from = greatest(stopAt, until - WINDOW)
    const found = await readRange(from, until).catch((error: unknown) => {
      if (signal?.aborted && until < end) return undefined
      throw error
    })
    if (!found) break
    position = from
    for (const read of found.toReversed()) {
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
