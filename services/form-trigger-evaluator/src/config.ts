import {
  databaseConfig,
  type Environment,
  internalServerConfig,
  kafkaConfig,
  logConfig,
  readConfig,
  redisConfig,
} from '@nextvisit/service-kit'

/** Throws a `ConfigError` that lists what is wrong. */
export function readEvaluatorConfig(env: Environment = process.env) {
  return readConfig(
    kafkaConfig
      .and(redisConfig)
      .and(databaseConfig('FORM_TRIGGER_EVALUATOR_DATABASE_URL'))
      .and(internalServerConfig)
      .and(logConfig),
    env,
  )
}
