import { type ByteWriter, varintSize } from './byte-writer.ts'
import { crc32c } from './crc32c.ts'

export interface RecordToEncode {
  readonly key: string
  readonly value: string | null
  readonly headers: Readonly<Record<string, string>>
}

/** Identity of an idempotent producer, assigned by the broker. */
export interface ProducerId {
  readonly producerId: bigint
  readonly producerEpoch: number
}

/** Records with the sizes of their texts, so that a batch can be written in one pass. */
interface MeasuredBatch {
  readonly records: readonly MeasuredRecord[]
  /** Size of the encoded batch in bytes. */
  readonly size: number
}

interface MeasuredRecord {
  readonly key: MeasuredText
  readonly value: MeasuredText
  /** Alternating names and values. */
  readonly headers: readonly MeasuredText[]
  readonly bodySize: number
}

interface MeasuredText {
  readonly text: string | null
  /** Size in UTF-8 bytes; -1 for null. */
  readonly size: number
}

/** Sizes in bytes: first offset and length; leader epoch to checksum; attributes to record count. */
const [PREFIX_BYTES, CHECKSUM_BYTES, FIELD_BYTES] = [12, 9, 40]
const [NO_OFFSET, NO_LEADER_EPOCH, MAGIC, NO_ATTRIBUTES] = [0n, 0, 2, 0]
/** Size in bytes of a record's attributes and timestamp delta. */
const RECORD_FIELD_BYTES = 2

/** Measures a batch for {@link writeBatch}. */
export function measureBatch(records: readonly RecordToEncode[]): MeasuredBatch {
  let size = PREFIX_BYTES + CHECKSUM_BYTES + FIELD_BYTES
  const measured = records.map((record, index) => {
    const one = measureRecord(record, index)
    size += varintSize(one.bodySize) + one.bodySize
    return one
  })
  return { records: measured, size }
}

/** Writes a batch of format 2, uncompressed and in no transaction, whose records have the same timestamp. */
export function writeBatch(
  writer: ByteWriter,
  { records, size }: MeasuredBatch,
  batch: ProducerId & { readonly firstSequence: number; readonly timestampMs: number },
): void {
  const timestamp = BigInt(batch.timestampMs)
  const end = writer.at + size
  writer
    .int64(NO_OFFSET)
    .int32(size - PREFIX_BYTES)
    .int32(NO_LEADER_EPOCH)
    .int8(MAGIC)
  const checksumAt = writer.at
  writer
    .int32(0)
    .int16(NO_ATTRIBUTES)
    .int32(records.length - 1)
    .int64(timestamp) // of the first record
    .int64(timestamp) // of the latest
    .int64(batch.producerId)
    .int16(batch.producerEpoch)
    .int32(batch.firstSequence)
    .int32(records.length)
  records.forEach((record, index) => writeRecord(writer, record, index))
  writer.bytes.writeUInt32BE(crc32c(writer.bytes.subarray(checksumAt + 4, end)), checksumAt)
}

function measureRecord(record: RecordToEncode, offsetDelta: number): MeasuredRecord {
  const key = measureText(record.key)
  const value = measureText(record.value)
  const headers: MeasuredText[] = []
  let bodySize = RECORD_FIELD_BYTES + varintSize(offsetDelta) + sizeWithLength(key) + sizeWithLength(value)
  for (const name of Object.keys(record.headers)) {
    const measuredName = measureText(name)
    const header = measureText(record.headers[name] ?? null)
    headers.push(measuredName, header)
    bodySize += sizeWithLength(measuredName) + sizeWithLength(header)
  }
  bodySize += varintSize(headers.length / 2)
  return { key, value, headers, bodySize }
}

function measureText(text: string | null): MeasuredText {
  return { text, size: text === null ? -1 : Buffer.byteLength(text) }
}

function sizeWithLength({ size }: MeasuredText): number {
  return size < 0 ? 1 : varintSize(size) + size
}

function writeRecord(writer: ByteWriter, { key, value, headers, bodySize }: MeasuredRecord, offsetDelta: number): void {
  writer.varint(bodySize).int8(NO_ATTRIBUTES).varint(0).varint(offsetDelta)
  writer
    .text(key.text, key.size)
    .text(value.text, value.size)
    .varint(headers.length / 2)
  for (const { text, size } of headers) writer.text(text, size)
}
