import { Kafka, logLevel, type KafkaConfig, type LogEntry, type RetryOptions, type SASLOptions } from 'kafkajs'

import type { ClientSockets } from './client-sockets.ts'
import type { LogConnection, Logger } from './log-connection.ts'

export interface KafkaClientOptions {
  /** Timeout of one attempt to connect. */
  readonly connectTimeoutMs: number
  /** Timeout of one attempt at a request. */
  readonly requestTimeoutMs: number
  readonly retry: RetryOptions
  readonly logger: Logger
}

export const silentLogger: Logger = { info: () => {}, warn: () => {}, error: () => {}, debug: () => {} }

/** Returns the configuration of a kafkajs client. Opens no connection. */
export function kafkajsConfig(
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
  return new Kafka(kafkajsConfig(connection, sockets, options))
}

/** kafkajs' log namespaces of single attempts. Their errors are thrown and logged once by the caller. */
const ATTEMPT_NAMESPACES = new Set(['Connection', 'BrokerPool', 'Cluster'])

/**
 * Logs kafkajs' errors as warnings, since this package logs their consequences, and all else as debug. Picks fields, because
 * kafkajs' entries may contain payloads.
 */
function forwardLog(logger: Logger, { level, namespace, log }: LogEntry): void {
  const { broker, groupId, topic, partition, error } = log
  const reason = typeof error === 'string' ? error : undefined
  const fields = { kafkajs: namespace, broker, groupId, topic, partition, reason }
  if (level === logLevel.ERROR && !ATTEMPT_NAMESPACES.has(namespace)) logger.warn(fields, log.message)
  else logger.debug(fields, log.message)
}
