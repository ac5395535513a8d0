import { Kafka, logLevel, type KafkaConfig, type LogEntry, type RetryOptions, type SASLOptions } from 'kafkajs'

import type { ClientSockets } from './client-sockets.ts'
import type { LogConnection, Logger } from './log-connection.ts'

export interface KafkaClientOptions {
  /** How long one attempt to connect may take. */
  readonly connectTimeoutMs: number
  /** How long one attempt at a request may take. */
  readonly requestTimeoutMs: number
  readonly retry: RetryOptions
  readonly logger: Logger
}

export const silentLogger: Logger = { info: () => {}, warn: () => {}, error: () => {}, debug: () => {} }

/** What kafkajs needs to reach the log. Opens nothing. */
export function kafkaConfig(
  connection: LogConnection,
  sockets: ClientSockets,
  { connectTimeoutMs, requestTimeoutMs, retry, logger }: KafkaClientOptions,
): KafkaConfig {
  return {
    brokers: [...connection.brokers],
    clientId: connection.clientId,
    ssl: connection.tls ?? false,
    ...(connection.sasl && { sasl: { ...connection.sasl } as SASLOptions }),
    connectionTimeout: connectTimeoutMs,
    authenticationTimeout: connectTimeoutMs,
    requestTimeout: requestTimeoutMs,
    retry,
    socketFactory: sockets.open,
    logLevel: logLevel.WARN,
    logCreator: () => (entry) => forwardLog(sockets.isCutOff() ? silentLogger : logger, entry),
  }
}

export function createKafka(connection: LogConnection, sockets: ClientSockets, options: KafkaClientOptions): Kafka {
  return new Kafka(kafkaConfig(connection, sockets, options))
}

/** kafkajs' namespaces for single attempts. Their outcome reaches us as an error and is logged once. */
const aboutAttempts = new Set(['Connection', 'BrokerPool', 'Cluster'])

/**
 * kafkajs' errors become warnings, since we log their consequences; everything else is debug. Fields are picked, never
 * passed on whole: kafkajs' entries may hold payloads.
 */
function forwardLog(logger: Logger, { level, namespace, log }: LogEntry): void {
  const { broker, groupId, topic, partition, error } = log
  const reason = typeof error === 'string' ? error : undefined
  const fields = { kafkajs: namespace, broker, groupId, topic, partition, reason }
  if (level === logLevel.ERROR && !aboutAttempts.has(namespace)) logger.warn(fields, log.message)
  else logger.debug(fields, log.message)
}
