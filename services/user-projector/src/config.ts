import { databaseConfig, internalServerConfig, kafkaConfig, logConfig, readConfig } from '@nextvisit/service-kit'

export const config = readConfig(
  kafkaConfig.and(databaseConfig('USER_PROJECTOR_DATABASE_URL')).and(internalServerConfig).and(logConfig),
  process.env,
)
