import { databaseConfig, type Environment, kafkaConfig, readConfig } from '@nextvisit/service-kit'

const schema = kafkaConfig.and(databaseConfig('REPLAY_DATABASE_URL'))

/** `databaseUrl`: of a role that may make schemas, as `nextvisit migrate` uses it. Throws a `ConfigError`. */
export function readReplayConfig(env: Environment = process.env) {
  return readConfig(schema, env)
}
