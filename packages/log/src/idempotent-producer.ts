import type { Message, RecordMetadata, TopicMessages } from 'kafkajs'

import { createClientSockets } from './client-sockets.ts'
import { BrokerUnreachableError, RequestOverdueError } from './errors.ts'
import { createKafka } from './kafka-client.ts'
import type { LogConnection, Logger } from './log-connection.ts'
import type { RecordToPublish } from './publisher.ts'
import { within } from './within.ts'

export interface IdempotentProducer {
  /**
   * Writes the records with `acks=all`, in order within each partition, and returns the offset of each (undefined where
   * the broker told none). Rejects if no answer came in time. Never call it again before it has settled, nor after it
   * has rejected: kafkajs then loses records that it has acknowledged. (With several brokers it may still double the
   * records of a partition whose leader moved between two attempts at a request; consumers drop copies by record id.)
   */
  readonly send: (records: readonly RecordToPublish[]) => Promise<readonly (bigint | undefined)[]>
  /** Cuts the producer off: nothing that it still has under way is sent again. */
  readonly discard: (reason: Error) => void
}

export interface IdempotentProducerOptions {
  readonly requestTimeoutMs: number
  readonly connectTimeoutMs: number
  readonly logger: Logger
  /** One of the producer's sockets closed without our doing. */
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
    // Half: so that one lost answer is asked for again (the broker knows the sequence) before the request is given up.
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

/** Partitions are always given by the caller; kafkajs would choose anew at each retry. */
function givenPartition({ message }: { readonly message: Message }): number {
  if (message.partition === undefined) throw new TypeError('A record to publish names its partition')
  return message.partition
}

function byTopic(records: readonly RecordToPublish[]): TopicMessages[] {
  const messagesOf = new Map<string, Message[]>()
  for (const { topic, partition, key, value, headers } of records) {
    const messages = messagesOf.get(topic)
    const message = { partition, key, value, headers }
    if (messages) messages.push(message)
    else messagesOf.set(topic, [message])
  }
  return Array.from(messagesOf, ([topic, messages]) => ({ topic, messages }))
}

/** A partition's records of one request get offsets in a row, from the base offset that the broker tells. */
function offsetsOf(
  records: readonly RecordToPublish[],
  answer: readonly RecordMetadata[],
): readonly (bigint | undefined)[] {
  const nextOffsets = new Map<string, bigint>()
  for (const { topicName, partition, baseOffset } of answer) {
    if (baseOffset !== undefined && !baseOffset.startsWith('-')) {
      nextOffsets.set(`${topicName}/${partition}`, BigInt(baseOffset))
    }
  }
  return records.map(({ topic, partition }) => {
    const name = `${topic}/${partition}`
    const offset = nextOffsets.get(name)
    if (offset !== undefined) nextOffsets.set(name, offset + 1n)
    return offset
  })
}
