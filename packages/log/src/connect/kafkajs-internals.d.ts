/**
 * Types of kafkajs' internal modules. Its public API reads only as a member of a consumer group. The version is pinned and
 * patched (infra/patches), so the modules do not change.
 */
declare module 'kafkajs/src/cluster/index.js' {
  import type { Socket } from 'node:net'
  import type { Broker, Cluster as PublicCluster, KafkaConfig, Logger } from 'kafkajs'
  import type { Message } from '../wire/message.ts'

  interface Connection {
    /** Absent until the first attempt to connect. */
    readonly socket?: Socket
    send<Answer>(message: Message<Answer>): Promise<Answer>
  }

  export interface ConnectedBroker extends Broker {
    readonly connectionPool: {
      /** `Fetch` has its own connection, so that a fetch held by the broker delays no other request. */
      readonly pool: readonly Connection[]
      readonly getConnectionByRequest: (message: Message<unknown>) => Promise<Connection>
    }
    initProducerId(options: {
      readonly transactionTimeout: number
    }): Promise<{ readonly producerId: string; readonly producerEpoch: number }>
  }

  interface Cluster extends Omit<PublicCluster, 'findBroker' | 'findControllerBroker'> {
    findControllerBroker(): Promise<ConnectedBroker>
    findBroker(node: { readonly nodeId: string }): Promise<ConnectedBroker>
  }

  interface ClusterOptions extends Omit<KafkaConfig, 'logCreator' | 'logLevel'> {
    readonly logger: Logger
    readonly allowAutoTopicCreation: boolean
    readonly metadataMaxAge: number
  }

  const Cluster: new (options: ClusterOptions) => Cluster
  export default Cluster
}

declare module 'kafkajs/src/consumer/consumerGroup.js' {
  import type { Assigner, Cluster, Logger, OffsetsByTopicPartition, RetryOptions } from 'kafkajs'
  import type { ConnectedBroker } from 'kafkajs/src/cluster/index.js'

  /** One member's client of a consumer group. */
  export default class ConsumerGroup {
    constructor(options: {
      readonly cluster: Cluster
      readonly groupId: string
      readonly topics: readonly string[]
      readonly topicConfigurations: object
      readonly assigners: readonly Assigner[]
      readonly sessionTimeout: number
      readonly rebalanceTimeout: number
      readonly retry: RetryOptions
      readonly logger: Logger
      readonly autoCommit: boolean
      readonly instrumentationEmitter: { readonly emit: () => void }
    })
    /** Null: the coordinator assigns a new id at the next join. */
    memberId: string | null
    /** Null before the first join. */
    readonly coordinator: ConnectedBroker | null
    joinAndSync(): Promise<void>
    assigned(): readonly { readonly topic: string; readonly partitions: readonly number[] }[]
    heartbeat(options: { readonly interval: number }): Promise<void>
    /** Throws if a topic has more partitions than at the last join. */
    checkForStaleAssignment(): void
    commitOffsets(offsets: OffsetsByTopicPartition): Promise<void>
    leave(): Promise<void>
  }
}

declare module 'kafkajs/src/network/requestQueue/index.js' {
  import type { Logger } from 'kafkajs'

  export interface RequestEntry {
    readonly correlationId: number
    readonly resolve: (answer: unknown) => void
    readonly reject: (error: Error) => void
  }

  export default class RequestQueue {
    constructor(options: {
      readonly requestTimeout: number
      readonly enforceRequestTimeout: boolean
      readonly maxInFlightRequests?: number | undefined
      readonly logger: Pick<Logger, 'debug' | 'warn'>
    })
    scheduleRequestTimeoutCheck(): void
    push(request: {
      readonly entry: RequestEntry
      readonly expectResponse: boolean
      readonly sendRequest: () => void
      readonly requestTimeout?: number | undefined
    }): void
    fulfillRequest(response: { readonly correlationId: number; readonly payload: Buffer; readonly size: number }): void
    destroy(): void
  }
}
