import { consumerConfig, type Environment, readConfig } from '@nextvisit/service-kit'

const schema = consumerConfig('TRAIT_REGISTRY_DATABASE_URL')

/** Throws a `ConfigError` that lists what is wrong. */
export function readTraitRegistryConfig(env: Environment = process.env) {
  return readConfig(schema, env)
}
