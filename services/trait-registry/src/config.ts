import {
  databaseConfig,
  type Environment,
  internalServerConfig,
  kafkaConfig,
  logConfig,
  readConfig,
} from '@nextvisit/service-kit'

const schema = kafkaConfig.and(databaseConfig('TRAIT_REGISTRY_DATABASE_URL')).and(internalServerConfig).and(logConfig)

/** Throws a `ConfigError` that lists what is wrong. */
export function readTraitRegistryConfig(env: Environment = process.env) {
  return readConfig(schema, env)
}
