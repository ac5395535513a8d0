/** How to reach the log. Everything in this package takes one; only this package knows kafkajs. */
export interface LogConnection {
  readonly brokers: readonly string[]
  /** Names the process in the broker's logs. */
  readonly clientId: string
  readonly tls?: boolean
  readonly sasl?: {
    readonly mechanism: 'plain' | 'scram-sha-256' | 'scram-sha-512'
    readonly username: string
    readonly password: string
  }
  /** Of `user-events` and `form-events`. Left out: as many as each topic has when it is first seen. */
  readonly partitions?: ExpectedPartitions
  /** Where to dial a broker instead of the address that it advertises: a tunnel, or a test's fault proxy. */
  readonly addressFor?: (advertised: BrokerAddress) => BrokerAddress
}

export interface BrokerAddress {
  readonly host: string
  readonly port: number
}

/** How the keys of `user-events` and `form-events` are spread over partitions. */
export interface ExpectedPartitions {
  /** Keys belong to the first so many. */
  readonly keys: number
  /** So many the topic has. More than `keys` only after an operator added some by mistake: they stay empty. */
  readonly inTopic: number
}

/** What this package needs of a logger (pino fits). */
export interface Logger {
  info(fields: object, message: string): void
  warn(fields: object, message: string): void
  error(fields: object, message: string): void
  debug(fields: object, message: string): void
}
