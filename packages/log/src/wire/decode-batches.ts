import { ByteReader } from './byte-reader.ts'
import { decompress } from './decompress.ts'

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
}

/** An aborted transaction. Its producer's records between this offset and its end marker are skipped. */
interface AbortedTransaction {
  readonly producerId: bigint
  readonly firstOffset: bigint
}

/** The batches of one partition in the response to a fetch. */
interface EncodedBatches {
  readonly topic: string
  readonly partition: number
  /** Offset at which the fetch began. The first batch may begin before it. */
  readonly fetchedFrom: bigint
  readonly abortedTransactions: readonly AbortedTransaction[]
  readonly bytes: Buffer
}

export interface DecodedBatches {
  /** Without control records and records of aborted transactions. */
  readonly records: readonly FetchedRecord[]
  /** One past the last offset of the decoded batches. A batch keeps its range of offsets when compaction drops records. */
  readonly nextOffset: bigint
  /** The reason why the batch at `nextOffset` cannot be decoded. */
  readonly undecodable?: Error
}

/** Size in bytes of a batch's first offset and length. */
const PREFIX_BYTES = 12
/** Size in bytes of the other fields before its records. */
const HEADER_BYTES = 49
const MAGIC = 2

const CODEC_BITS = 0b111
const LOG_APPEND_TIME = 1 << 3
const TRANSACTIONAL = 1 << 4
const CONTROL = 1 << 5

interface BatchHeader {
  readonly firstOffset: bigint
  readonly lastOffsetDelta: number
  readonly lastOffset: bigint
  readonly attributes: number
  readonly firstTimestamp: bigint
  readonly maxTimestamp: bigint
  readonly producerId: bigint
}

/** Decodes record batches (format 2). Ends before the first damaged batch, and before one that is truncated. */
export async function decodeBatches(encoded: EncodedBatches): Promise<DecodedBatches> {
  const { bytes, fetchedFrom } = encoded
  const records: FetchedRecord[] = []
  const isAborted = createAbortedFilter(encoded.abortedTransactions)
  let nextOffset = fetchedFrom
  let whole = 0
  try {
    for (let at = 0; at < bytes.length; ) {
      const batch = wholeBatchAt(bytes, at)
      if (!batch) {
        if (at > 0) break
        throw new RangeError('The first batch is truncated')
      }
      at += batch.length
      const reader = new ByteReader(batch)
      const header = readHeader(reader)
      if (!isAborted(header) && header.lastOffset >= fetchedFrom) await decodeRecords(encoded, header, reader, records)
      if (header.lastOffset >= nextOffset) nextOffset = header.lastOffset + 1n
      whole = records.length
    }
    return { records, nextOffset }
  } catch (error) {
    return { records: records.slice(0, whole), nextOffset, undecodable: error as Error }
  }
}

/** Returns the batch at this position; undefined if it is truncated. */
function wholeBatchAt(bytes: Buffer, at: number): Buffer | undefined {
  if (bytes.length - at < PREFIX_BYTES) return undefined
  const length = bytes.readInt32BE(at + PREFIX_BYTES - 4)
  if (length < HEADER_BYTES) throw new RangeError(`A batch has ${length} bytes`)
  const end = at + PREFIX_BYTES + length
  return end > bytes.length ? undefined : bytes.subarray(at, end)
}

function readHeader(reader: ByteReader): BatchHeader {
  const firstOffset = reader.int64()
  reader.skip(8) // length, leader's epoch
  const magic = reader.int8()
  if (magic !== MAGIC) throw new RangeError(`A batch has format ${magic}, not ${MAGIC}`)
  reader.skip(4) // checksum: compared by the broker
  const attributes = reader.int16()
  const lastOffsetDelta = reader.int32()
  const lastOffset = firstOffset + BigInt(lastOffsetDelta)
  const header = { firstTimestamp: reader.int64(), maxTimestamp: reader.int64(), producerId: reader.int64() }
  reader.skip(6) // producer's epoch, first sequence
  return { firstOffset, lastOffsetDelta, lastOffset, attributes, ...header }
}

/** Returns a filter for control batches and batches of aborted transactions. Call it for each batch, in order. */
function createAbortedFilter(transactions: readonly AbortedTransaction[]): (header: BatchHeader) => boolean {
  let ahead = transactions
  const aborted = new Set<bigint>()
  return ({ attributes, lastOffset, producerId }) => {
    for (const { producerId: of, firstOffset } of ahead) if (firstOffset <= lastOffset) aborted.add(of)
    ahead = ahead.filter(({ firstOffset }) => firstOffset > lastOffset)
    if ((attributes & CONTROL) === 0) return (attributes & TRANSACTIONAL) !== 0 && aborted.has(producerId)
    // The end of this producer's transaction.
    aborted.delete(producerId)
    return true
  }
}

/** Appends the batch's records to `records`, from the fetched position on. */
async function decodeRecords(
  { topic, partition, fetchedFrom }: EncodedBatches,
  header: BatchHeader,
  reader: ByteReader,
  records: FetchedRecord[],
): Promise<void> {
  const { attributes, firstOffset, lastOffsetDelta, firstTimestamp, maxTimestamp } = header
  const count = reader.int32()
  const codec = attributes & CODEC_BITS
  const source = codec === 0 ? reader : new ByteReader(await decompress(codec, reader.bytes.subarray(reader.at)))
  const appendTime = (attributes & LOG_APPEND_TIME) === 0 ? undefined : Number(maxTimestamp)
  let lastDelta = -1
  for (let left = count; left > 0; left -= 1) {
    const size = source.varint()
    const end = source.at + size
    source.skip(1) // attributes: unused
    const timestampDelta = source.varlong()
    const offsetDelta = source.varint()
    if (offsetDelta <= lastDelta || offsetDelta > lastOffsetDelta)
      throw new RangeError('A record has no offset of its batch')
    lastDelta = offsetDelta
    const offset = firstOffset + BigInt(offsetDelta)
    if (offset < fetchedFrom) {
      source.skip(end - source.at)
      continue
    }
    records.push({
      topic,
      partition,
      offset,
      timestampMs: appendTime ?? Number(firstTimestamp + timestampDelta),
      key: source.slice(source.varint()),
      value: source.slice(source.varint()),
      headers: readHeaders(source),
    })
    if (source.at !== end) throw new RangeError(`A record of ${size} bytes ends elsewhere`)
  }
}

/** Reads headers, whose names may include `__proto__`. The last of equal names wins. Skips headers without a value. */
function readHeaders(reader: ByteReader): Readonly<Record<string, string>> {
  const headers: Record<string, string> = {}
  for (let left = reader.varint(); left > 0; left -= 1) {
    const name = reader.text(reader.varint())
    const length = reader.varint()
    if (length < 0) delete headers[name]
    else if (name === '__proto__') Object.defineProperty(headers, name, { ...OWN, value: reader.text(length) })
    else headers[name] = reader.text(length)
  }
  return headers
}

const OWN = { configurable: true, enumerable: true, writable: true }
