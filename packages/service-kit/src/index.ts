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
export { clusterCheckOf } from './cluster-check-of.ts'
export { type BatchedOutcome, type BatchedCall, createBatchedCall } from './create-batched-call.ts'
export { type Breaker, type BreakerWatch, createBreaker } from './create-breaker.ts'
export { createHttpPart } from './create-http-part.ts'
export { createLogger } from './create-logger.ts'
export {
  createRedis,
  createRedisSubscriber,
  type RedisConnection,
  subscribeTo,
} from './create-redis.ts'
export { createServiceClient, type ServiceClient } from './create-service-client.ts'
export { ConfigError } from './errors.ts'
export { createInternalClient } from './create-internal-client.ts'
export {
  createInternalServer,
  type Health,
} from './create-internal-server.ts'
export { createMetrics, createPublishMetrics } from './metrics.ts'
export {
  addressesConfig,
  configOrExit,
  databaseAddress,
  databaseConfig,
  type EnvironmentVariables,
  internalServerConfig,
  internalTokenConfig,
  kafkaConfig,
  logConfig,
  modeConfig,
  port,
  readConfig,
  redisConfig,
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
