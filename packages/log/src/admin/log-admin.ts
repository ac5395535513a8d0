import type { ConfigResourceTypes, GroupDescription, ITopicConfig } from 'kafkajs'

import { createClientSockets } from '../connect/client-sockets.ts'
import { firstOf, hasTooFewBrokers, isUnknownTopic, isUnsettled } from '../connect/kafkajs-errors.ts'
import { BrokerUnreachableError, TopicMissingError } from '../errors.ts'
import { createKafka, silentLogger } from '../connect/kafka-client.ts'
import { keepTrying } from '../connect/keep-trying.ts'
import type { LogConnection, Logger } from '../connect/log-connection.ts'
import type { Watermarks } from '../watermarks.ts'
import type { TopicState } from './unsafe-settings.ts'
import { within } from '../connect/within.ts'

export interface TopicSettings {
  readonly partitions: number
  /** Kafka's own names, e.g. `{ 'retention.ms': '-1' }`. */
  readonly config?: Readonly<Record<string, string>>
  /** The broker's default where left out. */
  readonly replicationFactor?: number
}

export interface MemberDescription {
  readonly memberId: string
  readonly clientId: string
  readonly host: string
}

export interface LogAdmin {
  /** Rejects with BrokerUnreachableError. */
  readonly connect: () => Promise<void>
  readonly disconnect: () => Promise<void>
  /** Creates a topic. False: it existed, and its settings stay as they are. */
  readonly createTopic: (topic: string, settings: TopicSettings) => Promise<boolean>
  readonly deleteTopic: (topic: string) => Promise<void>
  /** 0 if there is no such topic. */
  readonly partitionCount: (topic: string) => Promise<number>
  /** Rejects with TopicMissingError. */
  readonly describeTopics: (topics: readonly string[]) => Promise<readonly TopicState[]>
  /** Rejects with TopicMissingError. */
  readonly watermarks: (topic: string) => Promise<ReadonlyMap<number, Watermarks>>
  /** The first offset of each partition whose record is not older than `instantMs`. Where there is none, the log's end. */
  readonly offsetsAt: (topic: string, instantMs: number) => Promise<ReadonlyMap<number, bigint>>
  /** What a group has committed to Kafka, by partition. For dashboards: checkpoints live in Postgres. */
  readonly groupOffsets: (groupId: string, topic: string) => Promise<ReadonlyMap<number, bigint>>
  /** The notes that a group has committed with its offsets (`commitNote`), by partition; empty without one. */
  readonly groupNotes: (groupId: string, topic: string) => Promise<ReadonlyMap<number, string>>
  /** Ids of the groups that begin with `prefix`. */
  readonly listGroups: (prefix: string) => Promise<readonly string[]>
  readonly describeGroup: (
    groupId: string,
  ) => Promise<{ readonly state: GroupDescription['state']; readonly members: readonly MemberDescription[] }>
  /** Groups that have members, or do not exist, stay as they are. */
  readonly deleteEmptyGroups: (groupIds: readonly string[]) => Promise<void>
}

export interface LogAdminOptions {
  readonly logger?: Logger
  readonly connectTimeoutMs?: number
  readonly requestTimeoutMs?: number
}

/** In Kafka's protocol. An ES module cannot import kafkajs' enum for it. */
// oxlint-disable-next-line typescript/no-unsafe-enum-assignment
const TOPIC_RESOURCE = 2 as ConfigResourceTypes.TOPIC

/** Queries and configures the cluster. Reads and writes no records. */
export function createLogAdmin(connection: LogConnection, options: LogAdminOptions = {}): LogAdmin {
  const { logger = silentLogger, connectTimeoutMs = 5_000, requestTimeoutMs = 10_000 } = options
  const sockets = createClientSockets(connection)
  const admin = createKafka(connection, sockets, {
    connectTimeoutMs,
    requestTimeoutMs,
    retry: { retries: 5, initialRetryTime: 100, maxRetryTime: 1_000 },
    logger,
  }).admin()

  const partitionCount: LogAdmin['partitionCount'] = async (topic) => {
    // All topics: asked for one that does not exist, kafkajs throws.
    const { topics } = await admin.fetchTopicMetadata()
    return topics.find(({ name }) => name === topic)?.partitions.length ?? 0
  }

  const describeTopics: LogAdmin['describeTopics'] = async (topics) => {
    const { topics: there } = await admin.fetchTopicMetadata()
    const missing = topics.filter((topic) => !there.some(({ name }) => name === topic))
    if (missing.length > 0) throw new TopicMissingError(missing)
    const { resources } = await admin.describeConfigs({
      includeSynonyms: false,
      resources: topics.map((name) => ({ type: TOPIC_RESOURCE, name })),
    })
    return topics.map((topic) => {
      const partitions = there.find(({ name }) => name === topic)?.partitions ?? []
      const entries = resources.find(({ resourceName }) => resourceName === topic)?.configEntries ?? []
      return {
        topic,
        replicas: Math.min(...partitions.map(({ replicas }) => replicas.length)),
        config: new Map(entries.map(({ configName, configValue }) => [configName, configValue])),
      }
    })
  }

  const watermarks: LogAdmin['watermarks'] = async (topic) => {
    const offsets = await admin.fetchTopicOffsets(topic).catch((error: unknown) => {
      throw isUnknownTopic(error) ? new TopicMissingError([topic], { cause: error }) : error
    })
    return new Map(offsets.map(({ partition, low, high }) => [partition, { low: BigInt(low), high: BigInt(high) }]))
  }

  /** A starting broker refuses what concerns groups for longer than kafkajs tries. */
  const askCoordinator = <T>(ask: () => Promise<T>): Promise<T> =>
    keepTrying(ask, { message: 'Cannot read groups; trying again', logger, giveUpAfterMs: requestTimeoutMs })

  const committedBy = async (groupId: string, topic: string) => {
    const [answer] = await askCoordinator(() => admin.fetchOffsets({ groupId, topics: [topic] }))
    return answer?.partitions.filter(({ offset }) => !offset.startsWith('-')) ?? []
  }

  /** kafkajs does not wait for a cluster that is not settled yet, or slow. Other errors are thrown. */
  const createOnceSettled = async (topic: ITopicConfig & { replicationFactor: number }): Promise<boolean> => {
    const waiting = { message: 'Waiting for the cluster', logger, giveUpAfterMs: 3 * requestTimeoutMs }
    const create = () =>
      admin.createTopics({ topics: [topic], waitForLeaders: false }).then(
        (isNew) => ({ isNew }),
        (error: unknown) => {
          // Not even one broker is registered: it is starting, or too slow at this moment.
          if (isUnsettled(error) || (topic.replicationFactor <= 1 && hasTooFewBrokers(error))) throw error
          return { error }
        },
      )
    const created = await keepTrying(create, waiting)
    if ('error' in created) throw firstOf(created.error)
    return created.isNew
  }

  return {
    connect: async () => {
      const overdue = () => new BrokerUnreachableError(connectTimeoutMs)
      await within(connectTimeoutMs, admin.connect(), overdue).catch((cause: unknown) => {
        admin.disconnect().catch(() => {})
        throw new BrokerUnreachableError(connectTimeoutMs, { cause })
      })
    },
    disconnect: async () => {
      await admin.disconnect()
    },
    createTopic: async (topic, { partitions, config = {}, replicationFactor = -1 }) => {
      const configEntries = Object.entries(config).map(([name, value]) => ({ name, value }))
      const isNew = await createOnceSettled({ topic, numPartitions: partitions, replicationFactor, configEntries })
      // kafkajs' own wait fails on a broker that has not heard of the topic yet.
      const waiting = { message: 'Waiting for the new topic', logger, giveUpAfterMs: 3 * requestTimeoutMs }
      await keepTrying(() => watermarks(topic), waiting)
      return isNew
    },
    deleteTopic: async (topic) => {
      await admin.deleteTopics({ topics: [topic] })
    },
    partitionCount,
    describeTopics,
    watermarks,
    offsetsAt: async (topic, instantMs) => {
      const offsets = await admin.fetchTopicOffsetsByTimestamp(topic, instantMs)
      return new Map(offsets.map(({ partition, offset }) => [partition, BigInt(offset)]))
    },
    groupOffsets: async (groupId, topic) => {
      const committed = await committedBy(groupId, topic)
      return new Map(committed.map(({ partition, offset }) => [partition, BigInt(offset)]))
    },
    groupNotes: async (groupId, topic) => {
      const committed = await committedBy(groupId, topic)
      return new Map(committed.map(({ partition, metadata }) => [partition, metadata ?? '']))
    },
    listGroups: async (prefix) => {
      const { groups } = await askCoordinator(() => admin.listGroups())
      return groups.map(({ groupId }) => groupId).filter((groupId) => groupId.startsWith(prefix))
    },
    describeGroup: async (groupId) => {
      const { groups } = await askCoordinator(() => admin.describeGroups([groupId]))
      const members = groups[0]?.members ?? []
      return {
        state: groups[0]?.state ?? 'Unknown',
        members: members.map(({ memberId, clientId, clientHost }) => ({ memberId, clientId, host: clientHost })),
      }
    },
    deleteEmptyGroups: async (groupIds) => {
      if (groupIds.length === 0) return
      await admin.deleteGroups([...groupIds]).catch((error: unknown) => {
        if (!(error instanceof Error) || error.name !== 'KafkaJSDeleteGroupsError') throw error
      })
    },
  }
}
