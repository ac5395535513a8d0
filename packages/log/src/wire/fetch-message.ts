import { topicPartition } from '../topic-partition.ts'
import type { ByteReader } from './byte-reader.ts'
import { ByteWriter } from './byte-writer.ts'
import { createMessage, type Message } from './message.ts'
import { splitBatches, type SplitBatches } from './split-batches.ts'

/** The offset at which the next fetch of a partition begins. */
export interface FetchPosition {
  readonly topic: string
  readonly partition: number
  readonly offset: bigint
}

interface FetchRequest {
  /** The broker serves them in this order, up to `maxBytes`. */
  readonly positions: readonly FetchPosition[]
  /** Maximum time in ms for which the broker holds a fetch that finds no records. */
  readonly maxWaitMs: number
  readonly maxBytesPerPartition: number
  /** Maximum size of the response. Its first batch may be larger. */
  readonly maxBytes: number
}

/** A partition in the response to a fetch. Its batches are not decoded yet. */
export interface FetchedPartition extends SplitBatches {
  readonly topic: string
  readonly partition: number
  /** Kafka's error code; 0 means success. */
  readonly errorCode: number
  readonly highWatermark: bigint
  readonly fetchedFrom: bigint
}

const [NO_REPLICA, NO_SESSION, NO_EPOCH, NO_OFFSET] = [-1, 0, -1, -1n]
const READ_COMMITTED = 1
const AT_LEAST_ONE_BYTE = 1
/** Allowance for the network, in ms. */
const TRAVEL_MS = 100

const FIXED_BYTES = 4 + 4 + 4 + 4 + 1 + 4 + 4 + 4 + 4 + 2
const PARTITION_BYTES = 4 + 4 + 8 + 8 + 4

/**
 * Creates a fetch of committed records, without a fetch session. Version 11 of the request: versions below 10 cannot read
 * Zstandard.
 */
export function fetchMessage(request: FetchRequest): Message<readonly FetchedPartition[]> {
  const offsets = new Map(request.positions.map((one) => [topicPartition(one.topic, one.partition), one.offset]))
  return createMessage({
    apiName: 'Fetch',
    apiKey: 1,
    apiVersion: 11,
    timeoutMs: request.maxWaitMs + TRAVEL_MS,
    encode: () => encodeRequest(request),
    decode: async (reader) => {
      const clientSideThrottleTime = reader.int32()
      reader.skip(6) // error and id of the session
      const encoded = reader.list(() => {
        const topic = reader.string()
        return reader.list(() => readPartition(reader, topic))
      })
      const answer: FetchedPartition[] = []
      for (const { bytes, abortedTransactions, ...one } of encoded.flat()) {
        const fetchedFrom = offsets.get(topicPartition(one.topic, one.partition))
        if (fetchedFrom === undefined) continue
        answer.push({ ...one, fetchedFrom, ...splitBatches({ ...one, fetchedFrom, abortedTransactions, bytes }) })
      }
      return { answer, clientSideThrottleTime }
    },
  })
}

function encodeRequest({ positions, maxWaitMs, maxBytesPerPartition, maxBytes }: FetchRequest): Buffer {
  const topics = byTopic(positions)
  const size = topics.reduce(
    (sum, [{ topic }]) => sum + 6 + topic.length,
    FIXED_BYTES + positions.length * PARTITION_BYTES,
  )
  const writer = new ByteWriter(size)
    .int32(NO_REPLICA)
    .int32(maxWaitMs)
    .int32(AT_LEAST_ONE_BYTE)
    .int32(maxBytes)
    .int8(READ_COMMITTED)
    .int32(NO_SESSION)
    .int32(NO_EPOCH)
    .int32(topics.length)
  for (const ofTopic of topics) {
    writer.string(ofTopic[0].topic).int32(ofTopic.length)
    for (const { partition, offset } of ofTopic)
      writer.int32(partition).int32(NO_EPOCH).int64(offset).int64(NO_OFFSET).int32(maxBytesPerPartition)
  }
  return writer.int32(0).string('').bytes // no forgotten topics, no rack
}

/** Groups adjacent positions of a topic. Keeps the order, so a topic may have several groups. */
function byTopic(positions: readonly FetchPosition[]): readonly (readonly [FetchPosition, ...FetchPosition[]])[] {
  const runs: [FetchPosition, ...FetchPosition[]][] = []
  for (const position of positions) {
    const last = runs.at(-1)
    if (last?.[0].topic === position.topic) last.push(position)
    else runs.push([position])
  }
  return runs
}

function readPartition(reader: ByteReader, topic: string) {
  const partition = reader.int32()
  const errorCode = reader.int16()
  const highWatermark = reader.int64()
  reader.skip(16) // last stable offset, first offset
  const abortedTransactions = reader.list(() => ({ producerId: reader.int64(), firstOffset: reader.int64() }))
  reader.skip(4) // preferred replica
  const bytes = reader.slice(reader.int32()) ?? NOTHING
  return { topic, partition, errorCode, highWatermark, abortedTransactions, bytes }
}

const NOTHING = Buffer.alloc(0)
