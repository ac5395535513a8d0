import { consumerConfig, type Environment, readConfig, redisConfig } from '@nextvisit/service-kit'

const schema = consumerConfig('FORM_TRIGGER_EVALUATOR_DATABASE_URL').and(redisConfig)

/** Throws a `ConfigError` that lists what is wrong. */
export function readEvaluatorConfig(env: Environment = process.env) {
  return readConfig(schema, env)
}
