import { createHash } from 'node:crypto'

/** One record of the log, as a fetch returns it. */
export interface FetchedRecord {
  readonly topic: string
  readonly partition: number
  readonly offset: bigint
  /** The broker's or producer's timestamp, ms since the epoch. */
  readonly timestampMs: number
  readonly key: Buffer | null
  readonly value: Buffer | null
  readonly headers: Readonly<Record<string, string>>
  /** Present in the record of an undecodable batch, from `offset` to `lastOffset`. */
  readonly undecodable?: { readonly error: Error; readonly lastOffset: bigint }
}

/** The content of a record. */
export type RecordContent = Pick<FetchedRecord, 'key' | 'value' | 'headers'>

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
