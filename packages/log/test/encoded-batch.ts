export interface EncodedRecord {
  readonly offsetDelta: number
  readonly timestampDelta: bigint
  readonly key: Buffer | null
  readonly value: Buffer | null
  readonly headers: readonly (readonly [name: string, value: Buffer | null])[]
}

export interface EncodedBatch {
  readonly firstOffset: bigint
  readonly firstTimestamp: bigint
  readonly records: readonly EncodedRecord[]
}

/** What a broker answers for one partition, written as Kafka's protocol describes it and without any code of kafkajs. */
export function encodedBatches(batches: readonly EncodedBatch[]): Buffer {
  const bytes = Buffer.concat(batches.map(encodedBatch))
  return Buffer.concat([int32(bytes.length), bytes])
}

/** A number as a zigzag varint of up to ten bytes. */
export function varint(value: bigint | number): Buffer {
  const wide = BigInt(value)
  const bytes: number[] = []
  let rest = BigInt.asUintN(64, (wide << 1n) ^ (wide >> 63n))
  for (; rest >= 128n; rest >>= 7n) bytes.push(Number(rest & 127n) | 128)
  return Buffer.from([...bytes, Number(rest)])
}

function encodedBatch({ firstOffset, firstTimestamp, records }: EncodedBatch): Buffer {
  const [leaderEpoch, magic, crc, attributes] = [int32(0), Buffer.from([2]), int32(0), Buffer.from([0, 0])]
  const [producerId, producerEpoch, sequence] = [int64(-1n), Buffer.from([255, 255]), int32(-1)]
  const body = Buffer.concat([
    leaderEpoch,
    magic,
    crc,
    attributes,
    int32(records.at(-1)?.offsetDelta ?? 0),
    int64(firstTimestamp),
    int64(firstTimestamp),
    producerId,
    producerEpoch,
    sequence,
    int32(records.length),
    ...records.map(encodedRecord),
  ])
  return Buffer.concat([int64(firstOffset), int32(body.length), body])
}

function encodedRecord({ offsetDelta, timestampDelta, key, value, headers }: EncodedRecord): Buffer {
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

function int64(value: bigint): Buffer {
  const bytes = Buffer.alloc(8)
  bytes.writeBigInt64BE(value)
  return bytes
}
