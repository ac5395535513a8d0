import { createHash } from 'node:crypto'

/** One record of the log, as a fetch returns it. */
export interface FetchedRecord {
  readonly topic: string
  readonly partition: number
  readonly offset: bigint
  /** The broker's or producer's timestamp, ms since the epoch: see {@link recordTimeMs}. */
  readonly timestampMs: number
  readonly key: Buffer | null
  readonly value: Buffer | null
  readonly headers: Readonly<Record<string, string>>
  /** Present in the record of an undecodable batch, from `offset` to `lastOffset`. */
  readonly undecodable?: { readonly error: Error; readonly lastOffset: bigint }
}

/** The content of a record. */
export type RecordContent = Pick<FetchedRecord, 'key' | 'value' | 'headers'>

const YEAR_10_000_MS = Date.UTC(10_000, 0)

/**
 * Returns the time of a record in ms since the epoch. A producer may send any number, or none: one that is no instant of the
 * years 1970 to 9999 becomes 1970. Readers can therefore format it.
 */
export function recordTimeMs(timestamp: bigint | number): number {
  const ms = Number(timestamp)
  return ms >= 0 && ms < YEAR_10_000_MS ? ms : 0
}

/** Returns the number of bytes of a record's key, value and headers. Each of them may be large. */
export function bytesOfRecord({ key, value, headers }: RecordContent): number {
  let bytes = (key?.length ?? 0) + (value?.length ?? 0)
  for (const name in headers) bytes += name.length + (headers[name]?.length ?? 0)
  return bytes
}

/**
 * Returns the content of a record whose bytes in the log are not handed on: an empty value, which is no JSON, and headers
 * with the reason and with the size and SHA-256 of the bytes. Readers therefore treat it like any other unreadable record.
 * `HEADERS.omittedBecause` of the contracts has the same name.
 */
export function omittedContent(because: string, bytes: Buffer): RecordContent {
  return {
    key: null,
    value: Buffer.alloc(0),
    headers: {
      'omitted-because': because,
      'omitted-bytes': String(bytes.length),
      'omitted-sha256': createHash('sha256').update(bytes).digest('hex'),
    },
  }
}
