import {
  addressesConfig,
  internalServerConfig,
  kafkaConfig,
  logConfig,
  modeConfig,
  port,
  readConfig,
  redisConfig,
} from '@nextvisit/service-kit'
import { z } from 'zod'
import { REQUEST_BUDGET_MS } from './http/budget.ts'
import { isAddressRange } from './http/caller-address.ts'

const gatewayConfig = z
  .object({
    // Published by whoever runs it: a container sets 0.0.0.0.
    GATEWAY_HOST: z.string().default('127.0.0.1'),
    GATEWAY_PORT: port.default(8_080),
    /** Requests at once; one more is answered 503. */
    GATEWAY_MAX_IN_FLIGHT: z.coerce.number('must be a number of requests').int().min(1).default(4_000),
    /** How long a request may take, ms. Less than what a stop waits for, and than callers of our packages wait. */
    GATEWAY_REQUEST_BUDGET_MS: z.coerce
      .number('must be a number of milliseconds')
      .int()
      .min(200, 'must be at least 200')
      .max(5_000, 'must be at most 5000')
      .default(REQUEST_BUDGET_MS),
    /** Bytes of bodies at once, as sent and as inflated; more are answered 503. Default 64 MiB. */
    GATEWAY_MAX_BODY_BYTES_IN_FLIGHT: z.coerce
      .number('must be a number of bytes')
      .int()
      .min(1_048_576, 'must be at least 1048576 bytes')
      .default(67_108_864),
    /** Connections at once; one more is closed at once, and idle ones make room. */
    GATEWAY_MAX_CONNECTIONS: z.coerce.number('must be a number of connections').int().min(1).default(20_000),
    /** Proxies whose `X-Forwarded-For` is believed: addresses and ranges. */
    GATEWAY_TRUSTED_PROXIES: z
      .string()
      .default('')
      .transform((text) => text.split(',').flatMap((item) => item.trim() || []))
      .refine((items) => items.every(isAddressRange), 'must be addresses or ranges such as 10.0.0.0/8, or fd00::/8'),
    NEXTVISIT_SECRET_KEY: z
      .string()
      .regex(/^[0-9a-f]{64}$/i, 'must be 32 bytes as 64 hex characters')
      .optional(),
  })
  .transform((env) => ({
    host: env.GATEWAY_HOST,
    port: env.GATEWAY_PORT,
    maxInFlight: env.GATEWAY_MAX_IN_FLIGHT,
    requestBudgetMs: env.GATEWAY_REQUEST_BUDGET_MS,
    maxBodyBytesInFlight: env.GATEWAY_MAX_BODY_BYTES_IN_FLIGHT,
    maxConnections: env.GATEWAY_MAX_CONNECTIONS,
    trustedProxies: env.GATEWAY_TRUSTED_PROXIES,
    secretKey: env.NEXTVISIT_SECRET_KEY,
  }))

const schema = gatewayConfig
  .and(addressesConfig('user-projector', 'trait-registry', 'metering', 'form-trigger-evaluator'))
  .and(kafkaConfig)
  .and(redisConfig)
  .and(internalServerConfig)
  .and(logConfig)
  .and(modeConfig)
export type GatewayConfig = z.infer<typeof schema>

/** Throws ConfigError, which lists every variable that is wrong. */
export function readGatewayConfig(): GatewayConfig {
  return readConfig(schema, process.env)
}
