import {
  databaseConfig,
  type EnvironmentVariables,
  internalServerConfig,
  kafkaConfig,
  logConfig,
  modeConfig,
  readConfig,
  redisConfig,
  requiredKeyRingConfig,
  tracingConfig,
} from '@nextvisit/service-kit'
import type { KeyRing } from '@nextvisit/sealing'
import { z } from 'zod'
import type { Consumer } from './define-consumer.ts'

const NO_REDIS = z.unknown().transform((): { redisUrl?: string } => ({}))
const NO_KEYS = z.unknown().transform((): { keyRing?: KeyRing } => ({}))

/** Reads the configuration of a consumer's process. Throws a `ConfigError` that lists every problem. */
export function readConsumerConfig(
  { databaseVariable, opensRecords, isAwaited }: Pick<Consumer, 'databaseVariable' | 'opensRecords' | 'isAwaited'>,
  env: EnvironmentVariables = process.env,
) {
  const schema = kafkaConfig
    .and(databaseConfig(databaseVariable))
    .and(internalServerConfig)
    .and(logConfig)
    .and(tracingConfig)
    .and(modeConfig)
    .and(isAwaited ? redisConfig : NO_REDIS)
    .and(opensRecords ? requiredKeyRingConfig : NO_KEYS)
  return readConfig(schema, env)
}
