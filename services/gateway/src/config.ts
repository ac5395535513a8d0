import {
  addressesConfig,
  internalServerConfig,
  kafkaConfig,
  logConfig,
  modeConfig,
  port,
  readConfig,
  redisConfig,
  requiredKeyRingConfig,
  tracingConfig,
} from '@nextvisit/service-kit'
import { z } from 'zod'
import { REQUEST_BUDGET_MS } from './http/request-budget.ts'
import { isAddressRange } from './http/caller-address.ts'
import { samplerConfig } from './http/trace-sampler.ts'

const gatewayConfig = z
  .object({
    // Only this machine by default; a container sets 0.0.0.0.
    GATEWAY_HOST: z.string().default('127.0.0.1'),
    GATEWAY_PORT: port.default(8_080),
    /** Maximum requests in flight; one more gets 503. */
    GATEWAY_MAX_IN_FLIGHT: z.coerce.number('must be a number of requests').int().min(1).default(4_000),
    /** Time budget of a request in ms. Shorter than the waits of a stop, and of our client packages. */
    GATEWAY_REQUEST_BUDGET_MS: z.coerce
      .number('must be a number of milliseconds')
      .int()
      .min(200, 'must be at least 200')
      .max(5_000, 'must be at most 5000')
      .default(REQUEST_BUDGET_MS),
    /** Maximum bytes of bodies in flight, as sent and as inflated; more get 503. Default 64 MiB. */
    GATEWAY_MAX_BODY_BYTES_IN_FLIGHT: z.coerce
      .number('must be a number of bytes')
      .int()
      .min(1_048_576, 'must be at least 1048576 bytes')
      .default(67_108_864),
    /** Maximum connections; one more is closed at once, and idle ones make room. */
    GATEWAY_MAX_CONNECTIONS: z.coerce.number('must be a number of connections').int().min(1).default(20_000),
    /** How long a stop still answers, while `/readyz` is 503. Default 0. */
    GATEWAY_SHUTDOWN_DELAY_MS: z.coerce
      .number('must be a number of milliseconds')
      .int()
      .min(0, 'must be at least 0')
      .max(60_000, 'must be at most 60000')
      .default(0),
    /** Proxies whose `X-Forwarded-For` is trusted: addresses and ranges. */
    GATEWAY_TRUSTED_PROXIES: z
      .string()
      .default('')
      .transform((text) => text.split(',').flatMap((item) => item.trim() || []))
      .refine((items) => items.every(isAddressRange), 'must be addresses or ranges such as 10.0.0.0/8, or fd00::/8'),
  })
  .transform((env) => ({
    host: env.GATEWAY_HOST,
    port: env.GATEWAY_PORT,
    maxInFlight: env.GATEWAY_MAX_IN_FLIGHT,
    requestBudgetMs: env.GATEWAY_REQUEST_BUDGET_MS,
    maxBodyBytesInFlight: env.GATEWAY_MAX_BODY_BYTES_IN_FLIGHT,
    maxConnections: env.GATEWAY_MAX_CONNECTIONS,
    shutdownDelayMs: env.GATEWAY_SHUTDOWN_DELAY_MS,
    trustedProxies: env.GATEWAY_TRUSTED_PROXIES,
  }))

const schema = gatewayConfig
  .and(
    addressesConfig(
      'user-projector',
      'trait-registry',
      'metering',
      'form-trigger-evaluator',
      'user-eraser',
      'answer-collector',
      'webhook-dispatcher',
    ),
  )
  .and(kafkaConfig)
  .and(redisConfig)
  .and(requiredKeyRingConfig)
  .and(internalServerConfig)
  .and(logConfig)
  .and(tracingConfig)
  .and(samplerConfig)
  .and(modeConfig)
export type GatewayConfig = z.infer<typeof schema>

/** Reads the configuration. @throws ConfigError, which lists every invalid variable */
export function readGatewayConfig(): GatewayConfig {
  return readConfig(schema, process.env)
}
