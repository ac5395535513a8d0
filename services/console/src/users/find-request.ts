import { decodeRecord, HEADERS, TOPICS, UserFact } from '@nextvisit/contracts'
import { createLogReader, type FetchedRecord, type LogConnection, withLogAdmin } from '@nextvisit/log'

/** A record is in the log at most this long after its id was made: a request has 5 s at most, and clocks differ. */
const AROUND_MS = 10_000
/** So many are read within a few seconds. */
const MAX_RECORDS = 50_000
/** Somebody waits in front of a page. */
const GIVE_UP_AFTER_MS = 5_000

export type FoundRequest =
  | { readonly outcome: 'found'; readonly fact: UserFact }
  /** All of the log around the moment was read. Also for an id that names no time: of a request with an `Idempotency-Key`, or of an import. */
  | { readonly outcome: 'missing' }
  /** The log holds more records around the moment than are read; none of those that were read has the id. */
  | { readonly outcome: 'too-many-records'; readonly read: number; readonly fromMs: number; readonly untilMs: number }

export interface FindRequestOptions {
  /** Specs have a topic of their own. */
  readonly topic?: string
  readonly maxRecords?: number
}

/** The record of a request. Its id, a UUIDv7, says when it was made, so only the log around that moment is read. */
export async function findRequest(
  connection: LogConnection,
  requestId: string,
  { topic = TOPICS.userEvents, maxRecords = MAX_RECORDS }: FindRequestOptions = {},
): Promise<FoundRequest> {
  const madeAtMs = timeOf(requestId)
  if (madeAtMs === undefined) return { outcome: 'missing' }
  const [fromMs, untilMs] = [madeAtMs - AROUND_MS, madeAtMs + AROUND_MS]
  const [from, until] = await withLogAdmin(connection, (admin) =>
    Promise.all([admin.offsetsAt(topic, fromMs), admin.offsetsAt(topic, untilMs)]),
  )
  const ending = new AbortController()
  let record: FetchedRecord | undefined
  let [read, isCut] = [0, false]
  const onBatch = ({ records }: { readonly records: readonly FetchedRecord[] }): void => {
    if (read >= maxRecords && records.length > 0) isCut = true
    else {
      record = records.find(({ headers }) => headers[HEADERS.id] === requestId)
      read += records.length
    }
    if (isCut || record) ending.abort()
  }
  await createLogReader(connection, { giveUpAfterMs: GIVE_UP_AFTER_MS }).readFrom(topic, from, onBatch, {
    until,
    signal: ending.signal,
  })
  if (isCut) return { outcome: 'too-many-records', read, fromMs, untilMs }
  const decoded = record && decodeRecord(UserFact, record.value, record.headers)
  return decoded?.outcome === 'ok' ? { outcome: 'found', fact: decoded.fact } : { outcome: 'missing' }
}

/** When a UUIDv7 was made, ms since the epoch. */
export function timeOf(uuid: string): number | undefined {
  return uuid.charAt(14) === '7' ? Number.parseInt(uuid.replace('-', '').slice(0, 12), 16) : undefined
}
