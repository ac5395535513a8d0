import { Kafka } from 'kafkajs'
import Cluster from 'kafkajs/src/cluster/index.js'
import Batch from 'kafkajs/src/consumer/batch.js'

import { createClientSockets } from '../connect/client-sockets.ts'
import { BrokerUnreachableError, PositionOutsideLogError } from '../errors.ts'
import type { KafkaBatch } from './fetched-batches.ts'
import { kafkaConfig } from '../connect/kafka-client.ts'
import type { LogConnection, Logger } from '../connect/log-connection.ts'
import { within } from '../connect/within.ts'

export interface LogFetcherOptions {
  readonly connectTimeoutMs: number
  readonly requestTimeoutMs: number
  /** How long the broker may hold a fetch that finds nothing. */
  readonly maxWaitMs: number
  readonly maxBytesPerPartition: number
  readonly logger: Logger
}

export interface LogFetcher {
  /** One fetch from each position. Leaves out partitions without records. PositionOutsideLogError if one is not in the log. */
  readonly fetch: (positions: ReadonlyMap<number, bigint>) => Promise<readonly KafkaBatch[]>
  /** Cuts the connection off: a fetch in flight rejects. */
  readonly close: (reason: Error) => void
}

const readCommitted = 1

/** Reads a topic without a consumer group. Knows the leaders as of now: after any error, connect again. */
export async function connectFetcher(
  connection: LogConnection,
  topic: string,
  options: LogFetcherOptions,
): Promise<LogFetcher> {
  const { connectTimeoutMs, maxWaitMs, maxBytesPerPartition } = options
  const sockets = createClientSockets(connection)
  const retry = { retries: 2, initialRetryTime: 50, maxRetryTime: 250 }
  const config = kafkaConfig(connection, sockets, { ...options, retry })
  const cluster = new Cluster({
    ...config,
    logger: new Kafka(config).logger(),
    allowAutoTopicCreation: false,
    metadataMaxAge: 300_000,
  })

  const close = (reason: Error): void => {
    sockets.cutOff(reason)
    cluster.disconnect().catch(() => {})
  }

  const connect = async (): Promise<void> => {
    await cluster.connect()
    await cluster.addTargetTopic(topic)
  }

  const fetchFrom = async (nodeId: string, positions: ReadonlyMap<number, bigint>): Promise<readonly KafkaBatch[]> => {
    const broker = await cluster.findBroker({ nodeId })
    const partitions = Array.from(positions, ([partition, position]) => ({
      partition,
      fetchOffset: position.toString(),
      maxBytes: maxBytesPerPartition,
    }))
    const { responses } = await broker.fetch({
      maxWaitTime: maxWaitMs,
      minBytes: 1,
      maxBytes: 10 * maxBytesPerPartition,
      isolationLevel: readCommitted,
      topics: [{ topic, partitions }],
    })
    return responses
      .flatMap((response) => response.partitions)
      .filter(({ messages }) => messages.length > 0)
      .map((data) => new Batch(topic, String(positions.get(data.partition)), data))
  }

  const fetch: LogFetcher['fetch'] = async (positions) => {
    const leaders = Object.entries(cluster.findLeaderForPartitions(topic, [...positions.keys()]))
    const fetches = leaders.map(async ([nodeId, led]) => {
      const ledPositions = new Map([...positions].filter(([partition]) => led.includes(partition)))
      return fetchFrom(nodeId, ledPositions)
    })
    try {
      return (await Promise.all(fetches)).flat()
    } catch (error) {
      throw isOutOfRange(error)
        ? new PositionOutsideLogError(topic, error.partition, positions.get(error.partition), { cause: error })
        : error
    }
  }

  try {
    await within(connectTimeoutMs, connect(), () => new BrokerUnreachableError(connectTimeoutMs))
  } catch (error) {
    close(new BrokerUnreachableError(connectTimeoutMs, { cause: error }))
    throw error
  }
  return { fetch, close }
}

function isOutOfRange(error: unknown): error is Error & { readonly partition: number } {
  return error instanceof Error && error.name === 'KafkaJSOffsetOutOfRange'
}
