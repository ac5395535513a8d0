/**
 * What the log reader and the specs of our patch use of kafkajs' inside: its public API reads only as a member of a consumer
 * group. The version is pinned and patched (infra/patches), so this stands still.
 */
declare module 'kafkajs/src/cluster/index.js' {
  import type { KafkaConfig, Logger } from 'kafkajs'
  import type { Message } from '../wire/message.ts'

  export interface PartitionData {
    readonly partition: number
    readonly messages: readonly unknown[]
  }

  export interface Broker {
    readonly connectionPool: { readonly send: <Answer>(message: Message<Answer>) => Promise<Answer> }
  }

  export default class Cluster {
    constructor(
      options: Omit<KafkaConfig, 'logCreator' | 'logLevel'> & {
        readonly logger: Logger
        readonly allowAutoTopicCreation: boolean
        readonly metadataMaxAge: number
      },
    )
    connect(): Promise<void>
    disconnect(): Promise<void>
    addMultipleTargetTopics(topics: readonly string[]): Promise<void>
    refreshMetadata(): Promise<void>
    findTopicPartitionMetadata(
      topic: string,
    ): readonly { readonly partitionId: number; readonly leader: number | null }[]
    findBroker(node: { readonly nodeId: string }): Promise<Broker>
  }
}

declare module 'kafkajs/src/consumer/batch.js' {
  import type { KafkaMessage } from 'kafkajs'
  import type { PartitionData } from 'kafkajs/src/cluster/index.js'

  export default class Batch {
    constructor(topic: string, fetchedOffset: string, partitionData: PartitionData)
    readonly topic: string
    readonly partition: number
    readonly highWatermark: string
    readonly fetchedOffset: string
    readonly rawMessages: readonly unknown[]
    readonly messages: readonly KafkaMessage[]
    lastOffset(): string
  }
}

declare module 'kafkajs/src/protocol/decoder.js' {
  export default class Decoder {
    constructor(buffer: Buffer)
    readonly offset: number
    readVarInt(): number
    readVarLong(): { readonly value: bigint }
  }
}

declare module 'kafkajs/src/protocol/requests/fetch/v4/decodeMessages.js' {
  import type Decoder from 'kafkajs/src/protocol/decoder.js'

  /** Decodes a partition's records in a response to a fetch: their size in bytes, and the batches. */
  export default function decodeMessages(decoder: Decoder): Promise<readonly unknown[]>
}

declare module 'kafkajs/src/protocol/requests/produce/v3/request.js' {
  import type { IHeaders } from 'kafkajs'

  export interface MessageToEncode {
    readonly key: Buffer | string | null
    readonly value: Buffer | string | null
    readonly timestamp: string
    readonly headers: IHeaders
  }

  /** A request to publish, whose sender and first sequence are as given. */
  export default function produceRequest(request: {
    readonly acks: number
    readonly timeout: number
    readonly producerEpoch: number
    readonly topicData: readonly {
      readonly topic: string
      readonly partitions: readonly {
        readonly partition: number
        readonly firstSequence: number
        readonly messages: readonly MessageToEncode[]
      }[]
    }[]
  }): { readonly encode: () => Promise<{ readonly buffer: Buffer }> }
}

declare module 'kafkajs/src/consumer/fetchManager.js' {
  import type { Logger } from 'kafkajs'

  /** Fetches from each broker that leads a partition. `start` resolves once it is stopped. */
  export default function createFetchManager(options: {
    readonly logger: Pick<Logger, 'namespace'>
    readonly getNodeIds: () => readonly string[]
    readonly fetch: (nodeId: string) => Promise<readonly unknown[]>
    readonly handler: (batch: unknown) => Promise<void>
    readonly isRunning: () => boolean
  }): { readonly start: () => Promise<void>; readonly stop: () => Promise<void> }
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

declare module 'kafkajs/src/consumer/worker.js' {
  /** Takes batches of `next` until there is none. */
  export interface Worker<Batch> {
    readonly run: (source: {
      readonly next: () =>
        | { readonly batch: Batch; readonly resolve: () => void; readonly reject: (error: Error) => void }
        | undefined
    }) => Promise<void>
  }

  export default function createWorker<Batch>(options: {
    readonly handler: (batch: Batch) => Promise<void>
    readonly workerId: number
  }): Worker<Batch>
}

declare module 'kafkajs/src/consumer/workerQueue.js' {
  import type { Worker } from 'kafkajs/src/consumer/worker.js'

  /** `push` resolves once the workers have handled the batches. */
  export default function createWorkerQueue<Batch>(options: { readonly workers: readonly Worker<Batch>[] }): {
    readonly push: (...batches: readonly Batch[]) => Promise<void>
  }
}
