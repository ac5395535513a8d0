import { zstdCompressSync } from 'node:zlib'
import { createCluster } from '../src/connect/cluster.ts'
import { silentLogger } from '../src/connect/kafka-client.ts'
import type { LogConnection } from '../src/connect/log-connection.ts'
import { ByteWriter, varintSize } from '../src/wire/byte-writer.ts'
import { crc32c } from '../src/wire/crc32c.ts'
import { createMessage } from '../src/wire/message.ts'
import { int16, int32, int64 } from './encoded-batch.ts'

const [ZSTD, MAGIC] = [4, 2]
const PUBLISH_WITHIN_MS = 30_000

/** A batch of equal records. */
export interface HostileBatch {
  readonly records: number
  /** Absent: null. */
  readonly value?: Buffer
}

/**
 * Publishes one Zstandard batch of equal records, which may take hardly any bytes: our own publisher compresses nothing.
 * `times`: number of such batches. Compressing them costs much more than sending them, so they are compressed once.
 */
export async function publishCompressed(
  connection: LogConnection,
  { topic, partition }: { readonly topic: string; readonly partition: number },
  batch: HostileBatch,
  times = 1,
): Promise<void> {
  const message = produceMessage(topic, partition, encodedBatch(batch))
  const cluster = createCluster(connection, {
    connectTimeoutMs: PUBLISH_WITHIN_MS,
    requestTimeoutMs: PUBLISH_WITHIN_MS,
    retry: { retries: 5 },
    logger: silentLogger,
  })
  try {
    await cluster.connect([topic])
    const [[leader]] = [...cluster.byLeader([{ topic, partition }])] as [[number, unknown]]
    for (let sent = 0; sent < times; sent += 1) {
      const errorCode = await cluster.send(leader, message)
      if (errorCode !== 0) throw new Error(`The broker refused the batch: ${errorCode}`)
    }
  } finally {
    cluster.close(new Error('published'))
  }
}

/** Returns a value of this many bytes that takes hardly any in a compressed batch. */
export function spaces(bytes: number): Buffer {
  return Buffer.alloc(bytes, ' ')
}

function produceMessage(topic: string, partition: number, batch: Buffer) {
  const [acks, timeout, name] = [int16(-1), int32(PUBLISH_WITHIN_MS), Buffer.from(topic)]
  const ofTopic = [int32(1), int16(name.length), name, int32(1), int32(partition), int32(batch.length), batch]
  return createMessage<number>({
    apiName: 'Produce',
    apiKey: 0,
    apiVersion: 7,
    encode: () => Buffer.concat([int16(-1), acks, timeout, ...ofTopic]),
    decode: async (reader) => {
      reader.skip(4)
      reader.string()
      reader.skip(4 + 4)
      return { answer: reader.int16(), clientSideThrottleTime: 0 }
    },
  })
}

function encodedBatch({ records, value }: HostileBatch): Buffer {
  const now = int64(BigInt(Date.now()))
  const checked = Buffer.concat([
    int16(ZSTD),
    int32(records - 1),
    now,
    now,
    int64(-1n),
    int16(-1),
    int32(-1),
    int32(records),
    zstdCompressSync(encodedRecords(records, value)),
  ])
  const crc = Buffer.alloc(4)
  crc.writeUInt32BE(crc32c(checked))
  const rest = Buffer.concat([int32(-1), Buffer.from([MAGIC]), crc, checked])
  return Buffer.concat([int64(0n), int32(rest.length), rest])
}

function encodedRecords(records: number, value: Buffer | undefined): Buffer {
  const valueBytes = value ? varintSize(value.length) + value.length : 1
  const sizeOf = (index: number): number => 1 + 1 + varintSize(index) + 1 + valueBytes + 1
  let bytes = 0
  for (let index = 0; index < records; index += 1) bytes += varintSize(sizeOf(index)) + sizeOf(index)
  const writer = new ByteWriter(bytes)
  for (let index = 0; index < records; index += 1) {
    writer
      .varint(sizeOf(index))
      .int8(0)
      .varint(0)
      .varint(index)
      .varint(-1)
      .varint(value?.length ?? -1)
    writer.at += value?.copy(writer.bytes, writer.at) ?? 0
    writer.varint(0)
  }
  return writer.bytes
}
