export {
  type CallFunction,
  createLocalClient,
  type CallClient,
  createCallClient,
  BEHIND,
  type CallContext,
  type CallOptions,
  type CallOutcome,
  type Handlers,
  type CallRoute,
  NOT_FOUND,
  remainingMs,
  type Send,
  sendLocally,
  serveCalls,
} from './calls.ts'
export { type Addresses, createAddresses, createForEachProcess } from './addresses.ts'
export { clusterCheckOf } from './cluster-check-of.ts'
export { type BatchedOutcome, type BatchedCall, createBatchedCall } from './batched-call.ts'
export { type Breaker, type BreakerWatch, createBreaker } from './breaker.ts'
export { createDependencyLog, type DependencyLog } from './dependency-log.ts'
export { createHttpPart } from './http-part.ts'
export { createLogger } from './logger.ts'
export { messageOf } from './message-of.ts'
export {
  createRedis,
  createRedisSubscriber,
  type RedisConnection,
  subscribeTo,
} from './redis.ts'
export { createServiceClient, type ServiceClient } from './service-client.ts'
export { ConfigError } from './errors.ts'
export { createInternalClient } from './internal-client.ts'
export {
  createInternalServer,
  type Health,
  internalServerParts,
} from './internal-server.ts'
export { createHistogram, createMetrics, hasExemplars, createPublishMetrics } from './metrics.ts'
export { isSampled, sampledContexts, traceFields } from './trace-context.ts'
export { startTracing, type Tracing, tracingParts } from './tracing.ts'
export { tracingConfig } from './tracing-config.ts'
export { boundConnections } from './bound-connections.ts'
export { createUnreadAnswers, reportUnread } from './unread-answers.ts'
export { createOutageLog, type OutageLog } from './outage-log.ts'
export {
  addressesConfig,
  configOrExit,
  databaseAddress,
  databaseConfig,
  type EnvironmentVariables,
  internalServerConfig,
  internalTokenConfig,
  kafkaConfig,
  keyRetentionConfig,
  keyRingConfig,
  logConfig,
  modeConfig,
  port,
  readConfig,
  redisConfig,
  requiredKeyRingConfig,
  token,
} from './read-config.ts'
export {
  createRefusalStore,
  MAX_REFUSALS_PER_REASON,
  type ProjectRefusals,
  type RefusalStore,
  type StoredRefusals,
} from './refusal-store.ts'
export { runService, type ServicePart } from './run-service.ts'
export type { Logger } from 'pino'
export { Counter } from 'prom-client'
