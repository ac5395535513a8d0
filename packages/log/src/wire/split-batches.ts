import { ByteReader } from './byte-reader.ts'
import { crc32c } from './crc32c.ts'

/** A batch of the log (format 2), not decompressed yet, without control records and aborted transactions. */
export interface EncodedBatch {
  readonly topic: string
  readonly partition: number
  readonly firstOffset: bigint
  readonly lastOffset: bigint
  /** Number of records according to the header. */
  readonly count: number
  /** Number of the codec: 0 means uncompressed. */
  readonly codec: number
  readonly firstTimestampMs: bigint
  readonly maxTimestampMs: bigint
  /** True if its records have the broker's time, which is `maxTimestampMs`. */
  readonly hasAppendTime: boolean
  /** Its records, perhaps compressed. */
  readonly body: Buffer
}

/** The batches of a fetched partition. */
export interface SplitBatches {
  readonly batches: readonly EncodedBatch[]
  /** One past the last offset of the batches. A batch keeps its range of offsets when compaction drops records. */
  readonly nextOffset: bigint
  /** The reason why the range of the batch at `nextOffset` is unknown: it is damaged, and reading cannot continue after it. */
  readonly damage?: Error
}

/** An aborted transaction. Its producer's records between this offset and its end marker are skipped. */
interface AbortedTransaction {
  readonly producerId: bigint
  readonly firstOffset: bigint
}

/** The batches of one partition in the response to a fetch. */
interface EncodedPartition {
  readonly topic: string
  readonly partition: number
  /** Offset at which the fetch began. The first batch may begin before it. */
  readonly fetchedFrom: bigint
  readonly highWatermark: bigint
  readonly abortedTransactions: readonly AbortedTransaction[]
  readonly bytes: Buffer
}

/** Size in bytes of a batch's first offset and length. */
const PREFIX_BYTES = 12
/** Size in bytes of the other fields before its records. */
const HEADER_BYTES = 49
const MAGIC = 2
/** Position in a batch, after its first offset, length, leader's epoch and format. */
const CHECKSUM_AT = 17
const CHECKSUM_BYTES = 4

const CODEC_BITS = 0b111
const LOG_APPEND_TIME = 1 << 3
const TRANSACTIONAL = 1 << 4
const CONTROL = 1 << 5

/** Splits the batches of a partition by their headers. Ends before the first with a damaged header, and before a truncated one. */
export function splitBatches(encoded: EncodedPartition): SplitBatches {
  const { bytes, fetchedFrom } = encoded
  const batches: EncodedBatch[] = []
  const isAborted = createAbortedFilter(encoded.abortedTransactions)
  let nextOffset = fetchedFrom
  let previous: { readonly end: bigint; readonly nextOffset: bigint; readonly count: number } | undefined
  try {
    for (let at = 0; at < bytes.length; ) {
      const whole = wholeBatchAt(bytes, at)
      if (!whole) {
        if (at > 0) break
        throw new RangeError('the first batch is truncated')
      }
      at += whole.length
      const header = readHeader(encoded, whole)
      const { firstOffset, lastOffset } = header
      if (previous && firstOffset < previous.end) {
        // The first offset of one of both is damaged. No checksum covers it.
        nextOffset = previous.nextOffset
        batches.length = previous.count
        throw new RangeError(`a batch begins at offset ${firstOffset}, before the end of the previous one`)
      }
      requireCredibleOffsets(header, whole, encoded.highWatermark > nextOffset ? encoded.highWatermark : nextOffset)
      previous = { end: lastOffset + 1n, nextOffset, count: batches.length }
      if (!isAborted(header) && lastOffset >= fetchedFrom) batches.push(header)
      if (lastOffset >= nextOffset) nextOffset = lastOffset + 1n
    }
    return { batches, nextOffset }
  } catch (error) {
    return { batches, nextOffset, damage: error as Error }
  }
}

/** Returns the batch at this position; undefined if it is truncated. */
function wholeBatchAt(bytes: Buffer, at: number): Buffer | undefined {
  if (bytes.length - at < PREFIX_BYTES) return undefined
  const length = bytes.readInt32BE(at + PREFIX_BYTES - 4)
  if (length < HEADER_BYTES) throw new RangeError(`a batch has ${length} bytes`)
  const end = at + PREFIX_BYTES + length
  return end > bytes.length ? undefined : bytes.subarray(at, end)
}

interface BatchHeader extends EncodedBatch {
  readonly attributes: number
  readonly producerId: bigint
}

/** Reads a header. */
function readHeader({ topic, partition }: EncodedPartition, bytes: Buffer): BatchHeader {
  const reader = new ByteReader(bytes)
  const firstOffset = reader.int64()
  reader.skip(8) // length, leader's epoch
  const magic = reader.int8()
  if (magic !== MAGIC) throw new RangeError(`a batch has format ${magic}, not ${MAGIC}`)
  reader.skip(CHECKSUM_BYTES)
  const attributes = reader.int16()
  const lastOffset = firstOffset + BigInt(reader.int32())
  const header = { firstTimestampMs: reader.int64(), maxTimestampMs: reader.int64(), producerId: reader.int64() }
  reader.skip(6) // producer's epoch, first sequence
  return {
    topic,
    partition,
    firstOffset,
    lastOffset,
    count: reader.int32(),
    codec: attributes & CODEC_BITS,
    ...header,
    hasAppendTime: (attributes & LOG_APPEND_TIME) !== 0,
    body: bytes.subarray(reader.at),
    attributes,
  }
}

/**
 * Throws if the offsets of a batch cannot be right: records after it could be skipped. `end`: the high watermark, or the end of
 * the previous batch if that is greater. A broker reads the watermark before the batches. A batch that was replicated
 * meanwhile therefore ends after it. Compaction leaves fewer records than offsets. Such a batch has to begin at `end` at the
 * latest, and its checksum has to match. (Other checksums are compared by the broker when a producer writes.)
 */
function requireCredibleOffsets({ firstOffset, lastOffset, count }: BatchHeader, bytes: Buffer, end: bigint): void {
  const offsets = lastOffset - firstOffset + 1n
  const isPlain = lastOffset < end && BigInt(count) === offsets
  if (offsets > 0n && (isPlain || (firstOffset <= end && isIntact(bytes)))) return
  throw new RangeError(`a batch of ${count} records ends at offset ${lastOffset}, which it cannot contain`)
}

/** Compares the checksum of a batch, which covers all fields after it. */
function isIntact(batch: Buffer): boolean {
  return batch.readUInt32BE(CHECKSUM_AT) === crc32c(batch.subarray(CHECKSUM_AT + CHECKSUM_BYTES))
}

/** Returns a filter for control batches and batches of aborted transactions. Call it for each batch, in order. */
function createAbortedFilter(transactions: readonly AbortedTransaction[]): (header: BatchHeader) => boolean {
  // Thousands of short transactions fit into a fetch, so each is looked at once.
  const ahead = transactions.toSorted((one, other) => (one.firstOffset < other.firstOffset ? -1 : 1))
  const aborted = new Set<bigint>()
  let begun = 0
  return ({ attributes, lastOffset, producerId }) => {
    for (let next = ahead[begun]; next && next.firstOffset <= lastOffset; next = ahead[begun]) {
      aborted.add(next.producerId)
      begun += 1
    }
    if ((attributes & CONTROL) === 0) return (attributes & TRANSACTIONAL) !== 0 && aborted.has(producerId)
    // The end of this producer's transaction.
    aborted.delete(producerId)
    return true
  }
}
