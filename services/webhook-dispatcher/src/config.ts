import { Duration, durationMs } from '@nextvisit/contracts'
import { MAX_RETRY_DELAY_MS, RETRY_DELAYS_MS } from '@nextvisit/domain'
import {
  addressesConfig,
  databaseConfig,
  type EnvironmentVariables,
  internalServerConfig,
  kafkaConfig,
  modeConfig,
  readConfig,
  requiredKeyRingConfig,
} from '@nextvisit/service-kit'
import { z } from 'zod'
import { webhookDispatcher } from './consumer.ts'
import { LOOPBACK, type Network, parseNetworks } from './sending/networks.ts'

export type WorkConfig = ReturnType<typeof readWorkConfig>

const NETWORKS = 'must be networks such as 10.0.0.0/8; several separated by commas'
const DELAYS = 'must be durations such as 5s,5m,30m, each of 24h at most'

const networks = z.string().transform((text, context): readonly Network[] => {
  const parsed = parseNetworks(text)
  if (parsed) return parsed
  context.addIssue({ code: 'custom', message: NETWORKS })
  return z.NEVER
})

const retryDelays = z
  .string()
  .transform((text) => text.split(',').map((one) => one.trim()))
  .refine((delays) => delays.every((one) => Duration.safeParse(one).success), DELAYS)
  .transform((delays): readonly number[] => delays.map(durationMs))
  // After a longer pause, an endpoint counts as quiet, and not as failing.
  .refine((delays) => delays.every((ms) => ms <= MAX_RETRY_DELAY_MS), DELAYS)

const webhookConfig = z
  .object({
    WEBHOOK_ALLOWED_NETWORKS: networks.optional(),
    WEBHOOK_RETRY_DELAYS: retryDelays.default(RETRY_DELAYS_MS),
  })
  .transform(({ WEBHOOK_ALLOWED_NETWORKS: allowedNetworks, WEBHOOK_RETRY_DELAYS: retryDelaysMs }) => ({
    allowedNetworks,
    retryDelaysMs,
  }))

/**
 * Reads the configuration of the dispatcher's work beside its fold. Throws a `ConfigError`, which also lists problems of the fold's
 * configuration. `networks`: allowed in addition to public addresses. `isHttpAllowed`: over plain http, too, but then to no others. This
 * machine may be an endpoint in local mode only, unless the variable says otherwise.
 */
export function readWorkConfig(env: EnvironmentVariables = process.env) {
  const { allowedNetworks, ...config } = readConfig(
    kafkaConfig
      .and(databaseConfig(webhookDispatcher.databaseVariable))
      .and(internalServerConfig)
      .and(requiredKeyRingConfig)
      .and(modeConfig)
      .and(webhookConfig)
      .and(addressesConfig('user-projector', 'answer-collector')),
    env,
  )
  const isByMode = allowedNetworks === undefined && config.mode === 'local'
  return { ...config, networks: allowedNetworks ?? (isByMode ? LOOPBACK : []), isHttpAllowed: isByMode }
}
