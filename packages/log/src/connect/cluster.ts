import { Kafka, PartitionAssigners } from 'kafkajs'
import Cluster from 'kafkajs/src/cluster/index.js'
import ConsumerGroup from 'kafkajs/src/consumer/consumerGroup.js'
import type { Message } from '../wire/message.ts'
import { createClientSockets } from './client-sockets.ts'
import { kafkaConfig, type KafkaClientOptions } from './kafka-client.ts'
import { isOverdue } from './kafkajs-errors.ts'
import type { LogConnection } from './log-connection.ts'

export interface ClusterOptions extends KafkaClientOptions {
  /** Age of metadata, in milliseconds, beyond which `refreshMetadataIfOld` asks again. Default 300,000. */
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

/** One client's connections to the brokers, and its knowledge of them. kafkajs keeps both. */
export interface LogCluster {
  /** Connects, and learns the leaders of these topics' partitions. */
  readonly connect: (topics: readonly string[]) => Promise<void>
  readonly refreshMetadata: () => Promise<void>
  readonly refreshMetadataIfOld: () => Promise<void>
  /** Groups by the id of the leader. Without one: {@link NO_LEADER}, to which nothing can be sent. */
  readonly byLeader: <One extends { readonly topic: string; readonly partition: number }>(
    all: readonly One[],
  ) => ReadonlyMap<number, readonly One[]>
  /** Rejects with kafkajs' errors. Aborting closes the connection, since a request cannot be taken back. */
  readonly send: <Answer>(nodeId: number, message: Message<Answer>, signal?: AbortSignal) => Promise<Answer>
  /** A consumer group as seen by one member. Opens nothing. */
  readonly createGroup: (options: GroupOptions) => ConsumerGroup
  /** Destroys every socket. Requests in flight reject, and nothing of this client reaches a broker afterwards. */
  readonly close: (reason: Error) => void
}

export const NO_LEADER = -1

/** The only user of kafkajs' internals: its public API fetches only as a member of a group, and numbers sequences itself. */
export function createCluster(connection: LogConnection, options: ClusterOptions): LogCluster {
  const sockets = createClientSockets(connection, options.onSocketClosed)
  const config = kafkaConfig(connection, sockets, options)
  const metadataMaxAge = options.metadataMaxAgeMs ?? 300_000
  const logger = new Kafka(config).logger()
  const cluster = new Cluster({ ...config, logger, allowAutoTopicCreation: false, metadataMaxAge })

  const leaderOf = (topic: string, partition: number): number => {
    const found = cluster.findTopicPartitionMetadata(topic).find(({ partitionId }) => partitionId === partition)
    return found?.leader ?? NO_LEADER
  }

  const send: LogCluster['send'] = async (nodeId, message, signal) => {
    const broker = await cluster.findBroker({ nodeId: String(nodeId) })
    const used = await broker.connectionPool.getConnectionByRequest(message)
    const giveUp = (): void => void used.socket.destroy(new Error('The request was given up'))
    signal?.throwIfAborted()
    signal?.addEventListener('abort', giveUp)
    try {
      return await used.send(message)
    } catch (error) {
      // kafkajs would send the next request over the same connection, though nothing may come back over it.
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
    createGroup,
    close: (reason) => {
      sockets.cutOff(reason)
      cluster.disconnect().catch(() => {})
    },
  }
}
