import { consumerConfig, type Environment, readConfig } from '@nextvisit/service-kit'

const schema = consumerConfig('USER_PROJECTOR_DATABASE_URL')

/** Throws a `ConfigError` that lists what is wrong. */
export function readUserProjectorConfig(env: Environment = process.env) {
  return readConfig(schema, env)
}
