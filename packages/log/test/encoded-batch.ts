export interface WireRecord {
  readonly offsetDelta: number
  readonly timestampDelta: bigint
  readonly key: Buffer | null
  readonly value: Buffer | null
  readonly headers: readonly (readonly [name: string, value: Buffer | null])[]
}

export interface EncodedBatch {
  readonly firstOffset: bigint
  readonly firstTimestamp: bigint
  readonly records: readonly WireRecord[]
  /** Default: the offset of the last record. */
  readonly lastOffsetDelta?: number
  readonly maxTimestamp?: bigint
  /** Bits for the codec, the kind of timestamp, transactions and control records. Default: 0. */
  readonly attributes?: number
  readonly producerId?: bigint
  readonly producerEpoch?: number
  readonly firstSequence?: number
  /** False: the checksum is 0. Default: it matches. */
  readonly isIntact?: boolean
  /** Replaces the encoded records, for example by their compressed bytes. */
  readonly body?: (records: Buffer) => Buffer
}

/** Encodes batches, after their length in bytes, as Kafka's protocol describes them. Uses no code of `src` or of kafkajs. */
export function encodedBatches(batches: readonly EncodedBatch[]): Buffer {
  const bytes = Buffer.concat(batches.map(encodedBatch))
  return Buffer.concat([int32(bytes.length), bytes])
}

export interface EncodedPartition {
  readonly partition: number
  readonly errorCode?: number
  readonly highWatermark: bigint
  readonly aborted?: readonly { readonly producerId: bigint; readonly firstOffset: bigint }[]
  /** With their length, from `encodedBatches`. */
  readonly batches: Buffer
}

/** Encodes the body of a broker's response to a fetch, version 11. */
export function encodedFetchResponse(topic: string, partitions: readonly EncodedPartition[]): Buffer {
  const encoded = partitions.map(({ partition, errorCode = 0, highWatermark, aborted = [], batches }) =>
    Buffer.concat([
      int32(partition),
      int16(errorCode),
      int64(highWatermark),
      int64(highWatermark), // last stable offset
      int64(0n),
      int32(aborted.length),
      ...aborted.flatMap(({ producerId, firstOffset }) => [int64(producerId), int64(firstOffset)]),
      int32(-1),
      batches,
    ]),
  )
  const before = [int32(0), int16(0), int32(0), int32(1), int16(topic.length), Buffer.from(topic)]
  return Buffer.concat([...before, int32(partitions.length), ...encoded])
}

/** Encodes a number as a zigzag varint of up to ten bytes. */
export function varint(value: bigint | number): Buffer {
  const wide = BigInt(value)
  const bytes: number[] = []
  let rest = BigInt.asUintN(64, (wide << 1n) ^ (wide >> 63n))
  for (; rest >= 128n; rest >>= 7n) bytes.push(Number(rest & 127n) | 128)
  return Buffer.from([...bytes, Number(rest)])
}

function encodedBatch(batch: EncodedBatch): Buffer {
  const { firstOffset, firstTimestamp, records, body = (bytes) => bytes } = batch
  const producer = [int64(batch.producerId ?? -1n), int16(batch.producerEpoch ?? -1), int32(batch.firstSequence ?? -1)]
  const checked = Buffer.concat([
    int16(batch.attributes ?? 0),
    int32(batch.lastOffsetDelta ?? records.at(-1)?.offsetDelta ?? 0),
    int64(firstTimestamp),
    int64(batch.maxTimestamp ?? firstTimestamp),
    ...producer,
    int32(records.length),
    body(Buffer.concat(records.map(encodedRecord))),
  ])
  const [leaderEpoch, format, checksum] = [
    int32(0),
    Buffer.from([2]),
    int32(batch.isIntact === false ? 0 : checksumOf(checked)),
  ]
  const rest = Buffer.concat([leaderEpoch, format, checksum, checked])
  return Buffer.concat([int64(firstOffset), int32(rest.length), rest])
}

/** Returns the CRC-32C bit by bit, as a signed number. */
function checksumOf(bytes: Buffer): number {
  let crc = -1
  for (const byte of bytes) {
    crc ^= byte
    for (let bit = 0; bit < 8; bit += 1) crc = (crc >>> 1) ^ (crc & 1 ? 0x82f63b78 : 0)
  }
  return ~crc
}

function encodedRecord({ offsetDelta, timestampDelta, key, value, headers }: WireRecord): Buffer {
  const attributes = Buffer.from([0])
  const ofHeaders = headers.flatMap(([name, of]) => [encodedBytes(Buffer.from(name)), encodedBytes(of)])
  const deltas = [varint(timestampDelta), varint(offsetDelta)]
  const keyAndValue = [encodedBytes(key), encodedBytes(value)]
  return encodedBytes(Buffer.concat([attributes, ...deltas, ...keyAndValue, varint(headers.length), ...ofHeaders]))
}

function encodedBytes(bytes: Buffer | null): Buffer {
  return bytes === null ? varint(-1) : Buffer.concat([varint(bytes.length), bytes])
}

export function int32(value: number): Buffer {
  const bytes = Buffer.alloc(4)
  bytes.writeInt32BE(value)
  return bytes
}

export function int16(value: number): Buffer {
  const bytes = Buffer.alloc(2)
  bytes.writeInt16BE(value)
  return bytes
}

export function int64(value: bigint): Buffer {
  const bytes = Buffer.alloc(8)
  bytes.writeBigInt64BE(value)
  return bytes
}
