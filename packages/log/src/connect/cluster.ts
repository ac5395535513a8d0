import { Kafka, PartitionAssigners } from 'kafkajs'
import Cluster from 'kafkajs/src/cluster/index.js'
import ConsumerGroup from 'kafkajs/src/consumer/consumerGroup.js'
import type { Message } from '../wire/message.ts'
import type { ProducerId } from '../wire/record-batch.ts'
import { createClientSockets } from './client-sockets.ts'
import { type KafkaClientOptions, kafkajsConfig } from './kafka-client.ts'
import { isOverdue } from './kafkajs-errors.ts'
import type { LogConnection } from './log-connection.ts'

interface ClusterOptions extends KafkaClientOptions {
  /** Age of metadata in ms beyond which `refreshMetadataIfOld` refreshes it. Default: 300,000. */
  readonly metadataMaxAgeMs?: number
  /** Called for each socket that closes before `close`. */
  readonly onSocketClosed?: () => void
}

export interface GroupOptions {
  readonly groupId: string
  readonly topics: readonly string[]
  readonly sessionTimeoutMs: number
  readonly rebalanceTimeoutMs: number
}

/** One client's connections to the brokers and its metadata of the cluster. */
export interface LogCluster {
  /** Connects and loads the leaders of these topics' partitions. */
  readonly connect: (topics: readonly string[]) => Promise<void>
  /** Callers share a refresh in flight, as kafkajs ensures. */
  readonly refreshMetadata: () => Promise<void>
  readonly refreshMetadataIfOld: () => Promise<void>
  /** Groups partitions by the node id of their leader: -1 without a leader, {@link NO_PARTITION} if the topic lacks them. */
  readonly byLeader: <One extends { readonly topic: string; readonly partition: number }>(
    all: readonly One[],
  ) => ReadonlyMap<number, readonly One[]>
  /** Sends a request and returns its answer. Rejects with kafkajs' errors. An abort closes the connection. */
  readonly send: <Answer>(nodeId: number, message: Message<Answer>, signal?: AbortSignal) => Promise<Answer>
  /** Gets the identity of a new idempotent producer from the controller. */
  readonly createProducerId: () => Promise<ProducerId>
  /** Creates one member's client of a Kafka consumer group. Opens no connection. */
  readonly createGroup: (options: GroupOptions) => ConsumerGroup
  /** Destroys every socket. Requests in flight reject, and no later request reaches a broker. */
  readonly close: (reason: Error) => void
}

/** Node id for partitions that the metadata does not list. No request can be sent to it. */
export const NO_PARTITION = -2

/** Required by the request for a producer id, though our producer has no transactions. */
const UNUSED_TIMEOUT_MS = 60_000

/** Creates a client of kafkajs' internal cluster. Its public API fetches only as a member of a group. */
export function createCluster(connection: LogConnection, options: ClusterOptions): LogCluster {
  const sockets = createClientSockets(connection, options.onSocketClosed)
  const config = kafkajsConfig(connection, sockets, options)
  const metadataMaxAge = options.metadataMaxAgeMs ?? 300_000
  const logger = new Kafka(config).logger()
  const cluster = new Cluster({ ...config, logger, allowAutoTopicCreation: false, metadataMaxAge })

  const leaderOf = (topic: string, partition: number): number => {
    const found = cluster.findTopicPartitionMetadata(topic).find(({ partitionId }) => partitionId === partition)
    return found ? found.leader : NO_PARTITION
  }

  const send: LogCluster['send'] = async (nodeId, message, signal) => {
    const broker = await cluster.findBroker({ nodeId: String(nodeId) })
    const used = await broker.connectionPool.getConnectionByRequest(message)
    const giveUp = (): void => void used.socket?.destroy(new Error('The request was aborted'))
    signal?.throwIfAborted()
    signal?.addEventListener('abort', giveUp)
    try {
      return await used.send(message)
    } catch (error) {
      // The connection may be dead, and kafkajs would reuse it for the next request.
      if (isOverdue(error)) giveUp()
      throw error
    } finally {
      signal?.removeEventListener('abort', giveUp)
    }
  }

  const createGroup: LogCluster['createGroup'] = ({ groupId, topics, sessionTimeoutMs, rebalanceTimeoutMs }) =>
    new ConsumerGroup({
      cluster,
      groupId,
      topics,
      topicConfigurations: {},
      assigners: [PartitionAssigners.roundRobin({ cluster, groupId, logger })],
      sessionTimeout: sessionTimeoutMs,
      rebalanceTimeout: rebalanceTimeoutMs,
      retry: options.retry,
      logger,
      autoCommit: false,
      instrumentationEmitter: { emit: () => {} },
    })

  return {
    connect: async (topics) => {
      await cluster.connect()
      await cluster.addMultipleTargetTopics([...topics])
    },
    refreshMetadata: () => cluster.refreshMetadata(),
    refreshMetadataIfOld: () => cluster.refreshMetadataIfNecessary(),
    byLeader: (all) => Map.groupBy(all, ({ topic, partition }) => leaderOf(topic, partition)),
    send,
    createProducerId: async () => {
      const controller = await cluster.findControllerBroker()
      const { producerId, producerEpoch } = await controller.initProducerId({ transactionTimeout: UNUSED_TIMEOUT_MS })
      return { producerId: BigInt(producerId), producerEpoch }
    },
    createGroup,
    close: (reason) => {
      sockets.cutOff(reason)
      cluster.disconnect().catch(() => {})
    },
  }
}
