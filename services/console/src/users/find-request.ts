import { setImmediate as nextTurn } from 'node:timers/promises'
import { decodeRecord, HEADERS, SealedUserFact, TOPICS } from '@nextvisit/contracts'
import { readLog, type FetchedBatch, type FetchedRecord, type LogConnection, withLogAdmin } from '@nextvisit/log'

/** A record enters the log within this time of its id: a request takes at most 5 s, and clocks differ. */
const AROUND_MS = 10_000
/** Maximum number of records to read, which takes a few seconds. */
const MAX_RECORDS = 50_000
/** A person waits for the page. */
const READ_WITHIN_MS = 8_000
const GIVE_UP_AFTER_MS = 5_000
/** Other requests have their turn after each batch. */
const BATCH_RECORDS = 500
/** A fetch has at most ten times as much. */
const FETCH_BYTES_PER_PARTITION = 256 * 1024

export type FoundRequest =
  | { readonly outcome: 'found'; readonly fact: SealedUserFact }
  /**
   * The whole surrounding log was read. Also the outcome for an id without a time: of a request with an
   * `Idempotency-Key`, or of an import.
   */
  | { readonly outcome: 'missing' }
  /** The log has more around that time than is read within the bounds, and none of the read records has the id. */
  | { readonly outcome: 'too-many-records'; readonly read: number; readonly fromMs: number; readonly untilMs: number }

interface FindRequestOptions {
  /** For specs, which use their own topic. */
  readonly topic?: string
  readonly maxRecords?: number
  /** Ends the search, which then rejects. */
  readonly signal?: AbortSignal
}

/** Finds the record of a request. Its id, a UUIDv7, contains its time, so only the log around that time is read. */
export async function findRequest(
  connection: LogConnection,
  requestId: string,
  { topic = TOPICS.userEvents, maxRecords = MAX_RECORDS, signal }: FindRequestOptions = {},
): Promise<FoundRequest> {
  const madeAtMs = timeOf(requestId)
  if (madeAtMs === undefined) return { outcome: 'missing' }
  const [fromMs, untilMs] = [madeAtMs - AROUND_MS, madeAtMs + AROUND_MS]
  const [from, until] = await withLogAdmin(connection, (admin) =>
    Promise.all([admin.offsetsAt(topic, fromMs), admin.offsetsAt(topic, untilMs)]),
  )
  const ending = new AbortController()
  const deadline = AbortSignal.timeout(READ_WITHIN_MS)
  let record: FetchedRecord | undefined
  let [read, isCut] = [0, false]
  async function onBatch({ records }: FetchedBatch): Promise<void> {
    if (read >= maxRecords && records.length > 0) isCut = true
    else {
      record = records.find(({ headers }) => headers[HEADERS.id] === requestId)
      read += records.length
    }
    if (isCut || record) ending.abort()
    await nextTurn()
  }
  await readLog(connection, {
    topic,
    from,
    until,
    onBatch,
    signal: AbortSignal.any([ending.signal, deadline, ...(signal ? [signal] : [])]),
    giveUpAfterMs: GIVE_UP_AFTER_MS,
    maxBatchRecords: BATCH_RECORDS,
    maxBytesPerPartition: FETCH_BYTES_PER_PARTITION,
    withStandIns: true,
  })
  signal?.throwIfAborted()
  isCut ||= deadline.aborted && !record
  if (isCut) return { outcome: 'too-many-records', read, fromMs, untilMs }
  const decoded = record && decodeRecord(SealedUserFact, record.value, record.headers)
  return decoded?.outcome === 'ok' ? { outcome: 'found', fact: decoded.fact } : { outcome: 'missing' }
}

/** Returns the time in a UUIDv7, in ms since the epoch. */
export function timeOf(uuid: string): number | undefined {
  return uuid.charAt(14) === '7' ? Number.parseInt(uuid.replace('-', '').slice(0, 12), 16) : undefined
}
