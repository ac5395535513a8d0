import { toError } from '../to-error.ts'
import { ByteReader } from './byte-reader.ts'
import { decompress, keepDecompressed } from './decompress.ts'
import { type FetchedRecord, omittedContent, type RecordContent, recordTimeMs } from './fetched-record.ts'
import type { EncodedBatch } from './split-batches.ts'

/** Bounds of the records that are decoded at once. One record always fits. */
export interface DecodeBounds {
  readonly maxRecords: number
  readonly maxBytes: number
}

/** The place in a batch from which decoding continues. */
export interface BatchPlace {
  /** Position in the decompressed records. */
  readonly at: number
  readonly index: number
  readonly lastDelta: number
}

/** Consecutive records of a batch. */
export interface BatchPart {
  readonly records: readonly FetchedRecord[]
  readonly bytes: number
  /** Present unless the batch ends here. */
  readonly next?: BatchPlace
}

type DecodedPart =
  | ({ readonly outcome: 'decoded' } & BatchPart)
  /** The batch needs more room. */
  | { readonly outcome: 'no-room' }
  /** The batch is damaged or too large. */
  | { readonly outcome: 'undecodable'; readonly error: Error }

/** Far more than a producer's batch has. A batch of a million empty records has only a megabyte. */
const MAX_BATCH_RECORDS = 100_000
/** Maximum size of a record in bytes. The largest that Nextvisit writes has 900,000. */
const MAX_RECORD_BYTES = 1024 * 1024
/** Each is an object's member, which takes far more memory than its bytes. Nextvisit writes nine. */
const MAX_HEADERS = 50
const MAX_OMITTED_KEY_BYTES = 1_000

interface PartOptions {
  /** Undefined: the beginning of the batch. */
  readonly place: BatchPlace | undefined
  readonly room: DecodeBounds
  readonly bounds: DecodeBounds
}

const BEGINNING: BatchPlace = { at: 0, index: 0, lastDelta: -1 }

/**
 * Decodes the records of a batch: all of them if they fit into `room`, else as many as fit into `bounds`, if `room` is not
 * smaller. The caller continues from `next`, and calls `dropDecompressed` after the last part. The decompressed bytes of a
 * few batches are kept between their parts; another batch is decompressed again. The caller holds the records of one part
 * only. A batch is undecodable before its first record is returned, never later.
 *
 * The content of a record that is too large is omitted: see {@link omittedContent}.
 */
export async function decodePart(batch: EncodedBatch, fetchedFrom: bigint, options: PartOptions): Promise<DecodedPart> {
  const { place, room, bounds } = options
  try {
    const bytes = await bytesOf(batch)
    const source = new ByteReader(bytes)
    const reading = { batch, fetchedFrom, source }
    const isWhole = place === undefined && batch.count <= room.maxRecords && source.left() <= room.maxBytes
    if (isWhole) return decoded(readRecords({ ...reading, isCopied: false }, BEGINNING, NO_BOUNDS))
    if (batch.codec !== 0) keepDecompressed(batch.body, bytes)
    if (room.maxRecords < bounds.maxRecords || room.maxBytes < bounds.maxBytes) return { outcome: 'no-room' }
    if (!place) check(reading, bounds)
    return decoded(readRecords({ ...reading, isCopied: batch.codec !== 0 }, place ?? BEGINNING, bounds))
  } catch (error) {
    return { outcome: 'undecodable', error: toError(error) }
  }
}

function bytesOf({ count, codec, body }: EncodedBatch): Buffer | Promise<Buffer> {
  if (count < 0 || count > MAX_BATCH_RECORDS)
    throw new RangeError(`it has ${count} records; the maximum is ${MAX_BATCH_RECORDS}`)
  return codec === 0 ? body : decompress(codec, body)
}

function decoded(part: BatchPart): DecodedPart {
  return { outcome: 'decoded', ...part }
}

const NO_BOUNDS: DecodeBounds = { maxRecords: Infinity, maxBytes: Infinity }

interface Reading {
  readonly batch: EncodedBatch
  readonly fetchedFrom: bigint
  readonly source: ByteReader
  /** True if the records must not keep the source in memory. */
  readonly isCopied: boolean
}

/** Throws unless every record can be read. */
function check(reading: Omit<Reading, 'isCopied'>, bounds: DecodeBounds): void {
  let next: BatchPlace | undefined = BEGINNING
  while (next) next = readRecords({ ...reading, isCopied: false }, next, bounds).next
}

function readRecords(reading: Reading, place: BatchPlace, { maxRecords, maxBytes }: DecodeBounds): BatchPart {
  const { batch, fetchedFrom, source } = reading
  const { firstOffset, count } = batch
  const lastDeltaOfBatch = Number(batch.lastOffset - firstOffset)
  const records: FetchedRecord[] = []
  let { index, lastDelta } = place
  let bytes = 0
  source.at = place.at
  for (; index < count; index += 1) {
    const at = source.at
    const size = source.varint()
    const end = source.at + size
    const cost = end - at > MAX_RECORD_BYTES ? 0 : end - at // its content is omitted
    if (records.length > 0 && (records.length >= maxRecords || bytes + cost > maxBytes))
      return { records, bytes, next: { at, index, lastDelta } }
    source.skip(1) // attributes: unused
    const timestampDelta = source.varlong()
    const offsetDelta = source.varint()
    if (offsetDelta <= lastDelta || offsetDelta > lastDeltaOfBatch)
      throw new RangeError('a record has no offset of its batch')
    lastDelta = offsetDelta
    const offset = firstOffset + BigInt(offsetDelta)
    if (offset < fetchedFrom) {
      source.skip(end - source.at)
      continue
    }
    bytes += cost
    const timestampMs = recordTimeMs(
      batch.hasAppendTime ? batch.maxTimestampMs : batch.firstTimestampMs + timestampDelta,
    )
    const { key, value, headers } = readContent(source, at, end, reading.isCopied)
    const { topic, partition } = batch
    records.push({ topic, partition, offset, timestampMs, key, value, headers })
    if (source.at !== end) throw new RangeError(`a record of ${size} bytes ends elsewhere`)
  }
  return { records, bytes }
}

/** Reads a record's key, value and headers, up to `end`. */
function readContent(source: ByteReader, begin: number, end: number, isCopied: boolean): RecordContent {
  if (end - begin > MAX_RECORD_BYTES)
    return omitted(source, begin, end, `the record is larger than ${MAX_RECORD_BYTES} bytes`, readShortKey(source))
  const key = source.slice(source.varint())
  const value = source.slice(source.varint())
  const count = source.varint()
  if (count > MAX_HEADERS)
    return omitted(source, begin, end, `the record has ${count} headers; the maximum is ${MAX_HEADERS}`, key)
  const headers = readHeaders(source, count)
  if (!isCopied) return { key, value, headers }
  return { key: key && Buffer.from(key), value: value && Buffer.from(value), headers }
}

/** Reads the key of a record that is too large: it may name a user or an organization. */
function readShortKey(source: ByteReader): Buffer | null {
  const length = source.varint()
  return length <= MAX_OMITTED_KEY_BYTES ? source.slice(length) : null
}

function omitted(source: ByteReader, begin: number, end: number, because: string, key: Buffer | null): RecordContent {
  source.skip(end - source.at)
  return { ...omittedContent(because, source.bytes.subarray(begin, end)), key: key && Buffer.from(key) }
}

/** Reads headers, whose names may include `__proto__`. The last of equal names wins. Skips headers without a value. */
function readHeaders(reader: ByteReader, count: number): Readonly<Record<string, string>> {
  const headers: Record<string, string> = {}
  for (let left = count; left > 0; left -= 1) {
    const name = reader.text(reader.varint())
    const length = reader.varint()
    if (length < 0) delete headers[name]
    else if (name === '__proto__') Object.defineProperty(headers, name, { ...OWN, value: reader.text(length) })
    else headers[name] = reader.text(length)
  }
  return headers
}

const OWN = { configurable: true, enumerable: true, writable: true }
