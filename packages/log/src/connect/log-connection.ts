/** Addresses and credentials of the log's brokers. */
export interface LogConnection {
  readonly brokers: readonly string[]
  /** Name of the process in the broker's logs. */
  readonly clientId: string
  readonly tls?: boolean
  readonly sasl?: {
    readonly mechanism: 'plain' | 'scram-sha-256' | 'scram-sha-512'
    readonly username: string
    readonly password: string
  }
  /** Partitions of `user-events` and `form-events`. Default: the number that each topic has when it is first read. */
  readonly partitions?: ExpectedPartitions
  /** Returns the address to dial instead of a broker's advertised address: for tunnels and fault proxies. */
  readonly addressFor?: (advertised: BrokerAddress) => BrokerAddress
}

interface BrokerAddress {
  readonly host: string
  readonly port: number
}

/** Numbers of partitions of `user-events` and `form-events`. */
export interface ExpectedPartitions {
  /** Keys are spread over the first `keyPartitions` partitions. */
  readonly keyPartitions: number
  /** Partitions of the topic. More than `keyPartitions` only if an operator added some by mistake: these stay empty. */
  readonly inTopic: number
}

/** Logger of this package, compatible with pino. */
export interface Logger {
  info(fields: object, message: string): void
  warn(fields: object, message: string): void
  error(fields: object, message: string): void
  debug(fields: object, message: string): void
}
