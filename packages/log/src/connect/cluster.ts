import { Kafka } from 'kafkajs'
import Cluster from 'kafkajs/src/cluster/index.js'
import type { Message } from '../wire/message.ts'
import { createClientSockets } from './client-sockets.ts'
import { kafkaConfig, type KafkaClientOptions } from './kafka-client.ts'
import type { LogConnection } from './log-connection.ts'

export interface ClusterOptions extends KafkaClientOptions {
  /** Milliseconds after which `refreshMetadataIfNecessary` refreshes. Default 300,000. */
  readonly metadataMaxAgeMs?: number
  /** Called for each socket that closes before `close`. */
  readonly onSocketClosed?: () => void
}

/** kafkajs' connections to the brokers, and what it knows of them. One of these is one client. */
export interface LogCluster {
  /** Connects, and learns who leads the partitions of these topics. */
  readonly connect: (topics: readonly string[]) => Promise<void>
  /** Groups by the id of the broker that leads. Without a leader: {@link NO_LEADER}, to which nothing can be sent. */
  readonly byLeader: <One extends { readonly topic: string; readonly partition: number }>(
    all: readonly One[],
  ) => ReadonlyMap<number, readonly One[]>
  readonly refreshMetadata: () => Promise<void>
  /** Rejects with kafkajs' errors. */
  readonly send: <Answer>(nodeId: number, message: Message<Answer>) => Promise<Answer>
  /** Destroys every socket. Whatever is in flight rejects, and nothing of this client reaches a broker afterwards. */
  readonly close: (reason: Error) => void
}

export const NO_LEADER = -1

export function createCluster(connection: LogConnection, options: ClusterOptions): LogCluster {
  const sockets = createClientSockets(connection, options.onSocketClosed)
  const config = kafkaConfig(connection, sockets, options)
  const kafkajs = new Cluster({
    ...config,
    logger: new Kafka(config).logger(),
    allowAutoTopicCreation: false,
    metadataMaxAge: options.metadataMaxAgeMs ?? 300_000,
  })

  const leaderOf = (topic: string, partition: number): number => {
    const found = kafkajs.findTopicPartitionMetadata(topic).find(({ partitionId }) => partitionId === partition)
    return found?.leader ?? NO_LEADER
  }

  return {
    connect: async (topics) => {
      await kafkajs.connect()
      await kafkajs.addMultipleTargetTopics([...topics])
    },
    byLeader: (all) => Map.groupBy(all, ({ topic, partition }) => leaderOf(topic, partition)),
    refreshMetadata: () => kafkajs.refreshMetadata(),
    send: async (nodeId, message) => {
      const broker = await kafkajs.findBroker({ nodeId: String(nodeId) })
      return broker.connectionPool.send(message)
    },
    close: (reason) => {
      sockets.cutOff(reason)
      kafkajs.disconnect().catch(() => {})
    },
  }
}
