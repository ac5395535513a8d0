export {
  type Ask,
  askHere,
  type Asks,
  asksOf,
  type Behind,
  behind,
  type CallContext,
  type CallOptions,
  type CallOutcome,
  type Handlers,
  type InternalRoute,
  type NotFound,
  notFound,
  type Send,
  sendHere,
  serveCalls,
} from './calls.ts'
export { clusterCheckOf } from './cluster-check-of.ts'
export {
  addressesConfig,
  databaseAddress,
  databaseConfig,
  internalServerConfig,
  internalTokenConfig,
  kafkaConfig,
  logConfig,
  modeConfig,
  port,
  redisConfig,
  token,
} from './config-pieces.ts'
export { type Asked, type BatchedCall, createBatchedCall } from './create-batched-call.ts'
export { type Breaker, type BreakerWatch, createBreaker } from './create-breaker.ts'
export { createHttpPart } from './create-http-part.ts'
export { createLogger } from './create-logger.ts'
export {
  createRedis,
  createRedisSubscriber,
  type RedisConnection,
  type RedisConnectionOptions,
} from './create-redis.ts'
export { createServiceClient, type ServiceClient } from './create-service-client.ts'
export { subscribeTo, type SubscribeToOptions } from './subscribe-to.ts'
export { ConfigError } from './errors.ts'
export { createInternalClient, type InternalClient, type InternalClientOptions } from './create-internal-client.ts'
export {
  createInternalServer,
  type Health,
  type InternalServer,
  type InternalServerOptions,
} from './create-internal-server.ts'
export { createMetrics, createPublishMetrics } from './metrics.ts'
export { configOrExit, type EnvironmentVariables, readConfig } from './read-config.ts'
export {
  createRefusalStore,
  KEPT_OF_A_REASON,
  type ProjectRefusals,
  type ReadRefusals,
  type RefusalStore,
} from './refusal-store.ts'
export { remainingMs } from './remaining-ms.ts'
export { type RunningService, runService, type RunServiceOptions, type ServicePart } from './run-service.ts'
export type { Logger } from 'pino'
export { Counter } from 'prom-client'
