import type { ByteReader } from './byte-reader.ts'
import { ByteWriter } from './byte-writer.ts'
import { createMessage, type Message } from './message.ts'
import { measureBatch, type ProducerId, type RecordToEncode, writeBatch } from './record-batch.ts'

/** The records of one partition in a produce request. They become one batch of the log. */
export interface PartitionToProduce {
  readonly topic: string
  readonly partition: number
  /** Sequence of the first record, among all records of this producer in the partition. */
  readonly firstSequence: number
  readonly records: readonly RecordToEncode[]
}

interface ProduceRequest extends ProducerId {
  readonly partitions: readonly PartitionToProduce[]
  readonly timestampMs: number
  /** Maximum time in ms for which the leader waits for its followers. */
  readonly timeoutMs: number
}

/** A partition in the response to a produce request. */
export interface ProducedPartition {
  readonly topic: string
  readonly partition: number
  /** Kafka's error code; 0 means success. */
  readonly errorCode: number
  /** Offset of the first record; -1 if unknown. */
  readonly baseOffset: bigint
}

/** The leader answers once every in-sync replica has the records. */
const ALL_REPLICAS = -1
const NULL_STRING = -1

const FIXED_BYTES = 2 + 2 + 4 + 4
const TOPIC_BYTES = 2 + 4
const PARTITION_BYTES = 4 + 4

/** Creates a produce request with `acks=all`, uncompressed and without a transaction. Version 7 of the request. */
export function produceMessage(request: ProduceRequest): Message<readonly ProducedPartition[]> {
  return createMessage({
    apiName: 'Produce',
    apiKey: 0,
    apiVersion: 7,
    encode: () => encodeRequest(request),
    decode: async (reader) => {
      const byTopic = reader.list(() => {
        const topic = reader.string()
        return reader.list(() => readPartition(reader, topic))
      })
      return { answer: byTopic.flat(), clientSideThrottleTime: reader.int32() }
    },
  })
}

function encodeRequest({ partitions, timeoutMs, ...batch }: ProduceRequest): Buffer {
  let size = FIXED_BYTES
  const measured = partitions.map((one) => {
    const measuredBatch = measureBatch(one.records)
    size += PARTITION_BYTES + measuredBatch.size
    return { ...one, measuredBatch }
  })
  const byTopic = Map.groupBy(measured, ({ topic }) => topic)
  for (const topic of byTopic.keys()) size += TOPIC_BYTES + topic.length

  const writer = new ByteWriter(size).int16(NULL_STRING).int16(ALL_REPLICAS).int32(timeoutMs).int32(byTopic.size)
  for (const [topic, ofTopic] of byTopic) {
    writer.string(topic).int32(ofTopic.length)
    for (const { partition, firstSequence, measuredBatch } of ofTopic) {
      writer.int32(partition).int32(measuredBatch.size)
      writeBatch(writer, measuredBatch, { ...batch, firstSequence })
    }
  }
  return writer.bytes
}

function readPartition(reader: ByteReader, topic: string): ProducedPartition {
  const [partition, errorCode, baseOffset] = [reader.int32(), reader.int16(), reader.int64()]
  reader.skip(16) // append time, first offset of the log
  return { topic, partition, errorCode, baseOffset }
}
