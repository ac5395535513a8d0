import type { ConfigResourceTypes, ITopicConfig } from 'kafkajs'

import { createClientSockets } from '../connect/client-sockets.ts'
import { hasType } from '../connect/kafkajs-errors.ts'
import { BrokerUnreachableError, TopicMissingError } from '../errors.ts'
import { createKafka, silentLogger } from '../connect/kafka-client.ts'
import { keepTrying } from '../connect/keep-trying.ts'
import type { LogConnection, Logger } from '../connect/log-connection.ts'
import type { Watermarks } from '../watermarks.ts'
import { createGroupAdmin, type GroupAdmin } from './group-admin.ts'
import type { TopicState } from './unsafe-settings.ts'
import { within } from '../connect/within.ts'

export interface TopicSettings {
  readonly partitions: number
  /** Topic settings by Kafka's names, e.g. `{ 'retention.ms': '-1' }`. */
  readonly config?: Readonly<Record<string, string>>
  /** Default: the broker's default. */
  readonly replicationFactor?: number
}

export interface LogAdmin extends GroupAdmin {
  /** Connects. Rejects with BrokerUnreachableError. */
  readonly connect: () => Promise<void>
  readonly disconnect: () => Promise<void>
  /** Creates a topic. Returns false if it exists: its settings stay unchanged. */
  readonly createTopic: (topic: string, settings: TopicSettings) => Promise<boolean>
  /** Changes settings of a topic, and keeps its other ones. Returns false if it has them already. */
  readonly changeTopic: (topic: string, config: NonNullable<TopicSettings['config']>) => Promise<boolean>
  /** Returns the settings that the topic itself has, without defaults of the broker. */
  readonly settingsOf: (topic: string) => Promise<ReadonlyMap<string, string>>
  readonly deleteTopic: (topic: string) => Promise<void>
  /** Returns the number of a topic's partitions, 0 if the topic does not exist. */
  readonly partitionCount: (topic: string) => Promise<number>
  /** Returns the replicas and settings of topics. Rejects with TopicMissingError. */
  readonly describeTopics: (topics: readonly string[]) => Promise<readonly TopicState[]>
  /** Returns the watermarks of a topic, by partition. Rejects with TopicMissingError. */
  readonly watermarks: (topic: string) => Promise<ReadonlyMap<number, Watermarks>>
  /** Returns the offset of each partition's first record not older than `instantMs`, the log's end if there is none. */
  readonly offsetsAt: (topic: string, instantMs: number) => Promise<ReadonlyMap<number, bigint>>
}

export interface LogAdminOptions {
  readonly logger?: Logger
  readonly connectTimeoutMs?: number
  readonly requestTimeoutMs?: number
}

/** Kafka's code for topics. An ES module cannot import kafkajs' enum. */
// oxlint-disable-next-line typescript/no-unsafe-enum-assignment
const TOPIC_RESOURCE = 2 as ConfigResourceTypes.TOPIC
/** Kafka's code for the source of a setting that the topic itself has. */
const OF_TOPIC = 1

/** Creates a client that queries and configures the cluster. It reads and writes no records. */
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
    // Fetches all topics, because kafkajs throws if a requested topic does not exist.
    const { topics } = await admin.fetchTopicMetadata()
    return topics.find(({ name }) => name === topic)?.partitions.length ?? 0
  }

  const describeTopics: LogAdmin['describeTopics'] = async (topics) => {
    const { topics: existing } = await admin.fetchTopicMetadata()
    const missing = topics.filter((topic) => !existing.some(({ name }) => name === topic))
    if (missing.length > 0) throw new TopicMissingError(missing)
    const { resources } = await admin.describeConfigs({
      includeSynonyms: false,
      resources: topics.map((name) => ({ type: TOPIC_RESOURCE, name })),
    })
    return topics.map((topic) => {
      const partitions = existing.find(({ name }) => name === topic)?.partitions ?? []
      const entries = resources.find(({ resourceName }) => resourceName === topic)?.configEntries ?? []
      return {
        topic,
        replicas: Math.min(...partitions.map(({ replicas }) => replicas.length)),
        config: new Map(entries.map(({ configName, configValue }) => [configName, configValue])),
      }
    })
  }

  const settingsOf: LogAdmin['settingsOf'] = async (topic) => {
    const { resources } = await admin.describeConfigs({
      includeSynonyms: false,
      resources: [{ type: TOPIC_RESOURCE, name: topic }],
    })
    const entries = resources[0]?.configEntries ?? []
    const own = entries.filter(({ configSource }) => (configSource as number) === OF_TOPIC)
    return new Map(own.map(({ configName, configValue }) => [configName, configValue]))
  }

  /** Kafka's request replaces all settings of the topic itself. */
  const changeTopic: LogAdmin['changeTopic'] = async (topic, config) => {
    const before = await settingsOf(topic)
    if (Object.entries(config).every(([name, value]) => before.get(name) === value)) return false
    const configEntries = Array.from(new Map([...before, ...Object.entries(config)]), ([name, value]) => ({
      name,
      value,
    }))
    await admin.alterConfigs({
      validateOnly: false,
      resources: [{ type: TOPIC_RESOURCE, name: topic, configEntries }],
    })
    return true
  }

  const watermarks: LogAdmin['watermarks'] = async (topic) => {
    const offsets = await admin.fetchTopicOffsets(topic).catch((error: unknown) => {
      throw hasType(error, 'UNKNOWN_TOPIC_OR_PARTITION') ? new TopicMissingError([topic], { cause: error }) : error
    })
    return new Map(offsets.map(({ partition, low, high }) => [partition, { low: BigInt(low), high: BigInt(high) }]))
  }

  /** Retries while the cluster has not settled, for longer than kafkajs does. Throws other errors. */
  const createOnceSettled = async (topic: ITopicConfig & { replicationFactor: number }): Promise<boolean> => {
    const waiting = { message: 'Waiting for the cluster', logger, giveUpAfterMs: 3 * requestTimeoutMs }
    const create = () =>
      admin.createTopics({ topics: [topic], waitForLeaders: false }).then(
        (isNew) => ({ isNew }),
        (error: unknown) => {
          // With one replica, too few brokers means that none is registered yet.
          if (isUnsettled(error) || (topic.replicationFactor <= 1 && hasType(error, 'INVALID_REPLICATION_FACTOR')))
            throw error
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
      // kafkajs' own wait fails on a broker that does not know the new topic yet.
      const waiting = { message: 'Waiting for the new topic', logger, giveUpAfterMs: 3 * requestTimeoutMs }
      await keepTrying(() => watermarks(topic), waiting)
      return isNew
    },
    changeTopic,
    settingsOf,
    deleteTopic: async (topic) => {
      await admin.deleteTopics({ topics: [topic] })
    },
    partitionCount,
    describeTopics,
    watermarks,
    offsetsAt: async (topic, instantMs) => {
      // No record is older than 1970, and negative instants have other meanings for Kafka.
      const offsets = await admin.fetchTopicOffsetsByTimestamp(topic, Math.max(0, instantMs))
      return new Map(offsets.map(({ partition, offset }) => [partition, BigInt(offset)]))
    },
    ...createGroupAdmin(admin, { message: 'Cannot read groups; retrying', logger, giveUpAfterMs: requestTimeoutMs }),
  }
}

/** Returns true if the cluster has no controller yet, a partition has no leader, or a request timed out. */
function isUnsettled(error: unknown): boolean {
  if (error instanceof Error && error.name === 'KafkaJSBrokerNotFound') return true
  return hasType(error, 'LEADER_NOT_AVAILABLE', 'REQUEST_TIMED_OUT')
}

/** Returns the first cause of kafkajs' error for several topics, and any other error unchanged. */
function firstOf(error: unknown): unknown {
  return error instanceof Error && 'errors' in error && Array.isArray(error.errors) ? (error.errors[0] ?? error) : error
}
