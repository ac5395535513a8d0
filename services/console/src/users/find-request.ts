import { decodeRecord, HEADERS, TOPICS, UserFact } from '@nextvisit/contracts'
import { createLogReader, type FetchedRecord, type LogConnection, withLogAdmin } from '@nextvisit/log'

/** A record is in the log at most this long after its id was made: a request has 5 s at most, and clocks differ. */
const AROUND_MS = 10_000
const MAX_RECORDS = 50_000
/** Somebody waits in front of a page. */
const GIVE_UP_AFTER_MS = 5_000

/**
 * The record of a request. Its id, a UUIDv7, says when it was made, so only the log around that moment is read. Undefined
 * where there is none, and for an id that names no time: of a request with an `Idempotency-Key`, or of an import.
 */
export async function findRequest(connection: LogConnection, requestId: string): Promise<UserFact | undefined> {
  const madeAtMs = timeOf(requestId)
  if (madeAtMs === undefined) return undefined
  const topic = TOPICS.userEvents
  const [from, until] = await withLogAdmin(connection, (admin) =>
    Promise.all([admin.offsetsAt(topic, madeAtMs - AROUND_MS), admin.offsetsAt(topic, madeAtMs + AROUND_MS)]),
  )
  const found = new AbortController()
  let record: FetchedRecord | undefined
  let looked = 0
  const onBatch = ({ records }: { readonly records: readonly FetchedRecord[] }): void => {
    record ??= records.find(({ headers }) => headers[HEADERS.id] === requestId)
    looked += records.length
    if (record || looked > MAX_RECORDS) found.abort()
  }
  await createLogReader(connection, { giveUpAfterMs: GIVE_UP_AFTER_MS }).readFrom(topic, from, onBatch, {
    until,
    signal: found.signal,
  })
  const decoded = record && decodeRecord(UserFact, record.value, record.headers)
  return decoded?.outcome === 'ok' ? decoded.fact : undefined
}

/** When a UUIDv7 was made, ms since the epoch. */
export function timeOf(uuid: string): number | undefined {
  return uuid.charAt(14) === '7' ? Number.parseInt(uuid.replace('-', '').slice(0, 12), 16) : undefined
}
