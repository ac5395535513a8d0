import {
  databaseConfig,
  type EnvironmentVariables,
  internalServerConfig,
  kafkaConfig,
  logConfig,
  modeConfig,
  readConfig,
  redisConfig,
} from '@nextvisit/service-kit'
import { z } from 'zod'
import type { Consumer } from './define-consumer.ts'

const NO_REDIS = z.unknown().transform((): { redisUrl?: string } => ({}))

/** Reads the configuration of a consumer's process. Throws a `ConfigError` that lists every problem. */
export function readConsumerConfig(
  { databaseVariable, isAwaited }: Pick<Consumer, 'databaseVariable' | 'isAwaited'>,
  env: EnvironmentVariables = process.env,
) {
  const schema = kafkaConfig
    .and(databaseConfig(databaseVariable))
    .and(internalServerConfig)
    .and(logConfig)
    .and(modeConfig)
    .and(isAwaited ? redisConfig : NO_REDIS)
  return readConfig(schema, env)
}
