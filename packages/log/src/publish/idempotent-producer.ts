import type { Message, RecordMetadata, TopicMessages } from 'kafkajs'

import { createClientSockets } from '../connect/client-sockets.ts'
import { BrokerUnreachableError, RequestOverdueError } from '../errors.ts'
import { createKafka } from '../connect/kafka-client.ts'
import type { LogConnection, Logger } from '../connect/log-connection.ts'
import type { RecordToPublish } from './publisher.ts'
import { within } from '../connect/within.ts'
import { topicPartition } from '../topic-partition.ts'

export interface IdempotentProducer {
  /**
   * Writes the records with `acks=all`, in order within each partition, and returns the offset of each (undefined where
   * the broker gave none). Each record is in the log at most once: an attempt repeats only partitions that are not yet
   * acknowledged, with the same sequence, which a new leader knows, too (our patch of kafkajs). Rejects if no answer came
   * in time. Never call it again before it has settled, or after it has rejected: kafkajs then loses records that it has
   * acknowledged.
   */
  readonly send: (records: readonly RecordToPublish[]) => Promise<readonly (bigint | undefined)[]>
  /** Cuts the producer off: nothing that is still in flight is sent again. */
  readonly discard: (reason: Error) => void
}

export interface IdempotentProducerOptions {
  readonly requestTimeoutMs: number
  readonly connectTimeoutMs: number
  readonly logger: Logger
  /** One of the producer's sockets was closed, and not by us. */
  readonly onSocketClosed: () => void
}

/** Connects a new producer, with an id of its own. Rejects with BrokerUnreachableError. */
export async function connectProducer(
  connection: LogConnection,
  { requestTimeoutMs, connectTimeoutMs, logger, onSocketClosed }: IdempotentProducerOptions,
): Promise<IdempotentProducer> {
  const sockets = createClientSockets(connection, onSocketClosed)
  const producer = createKafka(connection, sockets, {
    connectTimeoutMs,
    // Half, so that a request whose answer was lost is repeated once in time (the broker knows the sequence).
    requestTimeoutMs: Math.ceil(requestTimeoutMs / 2),
    retry: { retries: 8, initialRetryTime: 50, maxRetryTime: 250 },
    logger,
  }).producer({ idempotent: true, allowAutoTopicCreation: false, createPartitioner: () => givenPartition })

  const discard = (reason: Error): void => {
    sockets.cutOff(reason)
    producer.disconnect().catch(() => {})
  }

  try {
    const overdue = () => new BrokerUnreachableError(connectTimeoutMs)
    await within(connectTimeoutMs, producer.connect(), overdue)
  } catch (cause) {
    const unreachable = new BrokerUnreachableError(connectTimeoutMs, { cause })
    discard(unreachable)
    throw unreachable
  }

  const send: IdempotentProducer['send'] = async (records) => {
    const request = producer.sendBatch({ acks: -1, timeout: requestTimeoutMs, topicMessages: byTopic(records) })
    const answer = await within(requestTimeoutMs, request, () => new RequestOverdueError(requestTimeoutMs))
    return offsetsOf(records, answer)
  }

  return { send, discard }
}

/** The caller always gives the partition: kafkajs would choose again at each retry. */
function givenPartition({ message }: { readonly message: Message }): number {
  if (message.partition === undefined) throw new TypeError('A record to publish names its partition')
  return message.partition
}

function byTopic(records: readonly RecordToPublish[]): TopicMessages[] {
  const messagesOf = Map.groupBy(records, ({ topic }) => topic)
  return Array.from(messagesOf, ([topic, messages]) => ({ topic, messages }))
}

/** A partition's records of one request get consecutive offsets, from the base offset in the broker's answer. */
function offsetsOf(
  records: readonly RecordToPublish[],
  answer: readonly RecordMetadata[],
): readonly (bigint | undefined)[] {
  const nextOffsets = new Map<string, bigint>()
  for (const { topicName, partition, baseOffset } of answer) {
    if (baseOffset !== undefined && !baseOffset.startsWith('-')) {
      nextOffsets.set(topicPartition(topicName, partition), BigInt(baseOffset))
    }
  }
  return records.map(({ topic, partition }) => {
    const name = topicPartition(topic, partition)
    const offset = nextOffsets.get(name)
    if (offset !== undefined) nextOffsets.set(name, offset + 1n)
    return offset
  })
}
