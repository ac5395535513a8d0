import { consumerConfig, type Environment, readConfig } from '@nextvisit/service-kit'

const schema = consumerConfig('METERING_DATABASE_URL')

/** Throws a `ConfigError` that lists what is wrong. */
export function readMeteringConfig(env: Environment = process.env) {
  return readConfig(schema, env)
}
