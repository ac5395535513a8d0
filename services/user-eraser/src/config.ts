import {
  addressesConfig,
  databaseConfig,
  type EnvironmentVariables,
  internalServerConfig,
  kafkaConfig,
  readConfig,
  redisConfig,
  requiredKeyRingConfig,
} from '@nextvisit/service-kit'
import { userEraser } from './consumer.ts'

export type WorkConfig = ReturnType<typeof readWorkConfig>

/**
 * Reads the configuration of the eraser's work beside its fold. Throws a `ConfigError`, which also lists problems of the
 * fold's configuration.
 */
export function readWorkConfig(env: EnvironmentVariables = process.env) {
  return readConfig(
    kafkaConfig
      .and(databaseConfig(userEraser.databaseVariable))
      .and(internalServerConfig)
      .and(redisConfig)
      .and(requiredKeyRingConfig)
      .and(
        addressesConfig(
          'user-projector',
          'form-trigger-evaluator',
          'metering',
          'trait-registry',
          'answer-collector',
          'webhook-dispatcher',
        ),
      ),
    env,
  )
}
