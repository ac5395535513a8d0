import { Command, InvalidArgumentError } from 'commander'
import { logConnection, readEnvironment } from '../environment/config.ts'
import { keyRetentionConfig, readConfig } from '@nextvisit/service-kit'
import { createTopics, type TopicsOptions } from '../create-topics.ts'
import { CliError, EXIT } from '../errors.ts'
import { print } from '../output/print.ts'

export function createCommand(): Command {
  return new Command('topics')
    .description('Create the topics of the log.')
    .addHelpText('after', '\nExample:\n  KAFKA_BROKERS=kafka:9092 nextvisit topics create --replicas 3')
    .addCommand(
      new Command('create')
        .description(
          'Create the missing topics. Existing topics stay unchanged. ERASURE_KEY_RETENTION changes the retention of user-keys.',
        )
        .option(
          '--partitions <n>',
          'number for user-events, form-events and user-keys; can never be changed. Default: KAFKA_PARTITIONS, or 12. Other than 12: set KAFKA_PARTITIONS for every process',
          wholeNumber,
        )
        .option(
          '--replicas <n>',
          'replicas of each record; 3 or more in production (default: the setting of the broker)',
          wholeNumber,
        )
        .addHelpText(
          'after',
          `
ERASURE_KEY_RETENTION (at least 10s) is the time within which the keys of erased users leave the files of user-keys. If it is
set, the command also applies it to an existing topic. Otherwise an existing topic keeps its retention, and a new one gets 24h.
The brokers' log.cleaner.backoff.ms must be much shorter.
Exits with 0 if done, 1 if failed, 2 if the arguments are invalid.

Example:
  KAFKA_BROKERS=kafka:9092 nextvisit topics create --replicas 3`,
        )
        .action(create),
    )
}

async function create(options: Omit<TopicsOptions, 'keyRetentionMs'>): Promise<void> {
  const env = readEnvironment()
  const connection = logConnection(env)
  const { partitions } = options
  const expected = connection.partitions?.inTopic
  if (partitions !== undefined && env['KAFKA_PARTITIONS'] !== undefined && partitions !== expected) {
    const message = `--partitions is ${partitions}, but KAFKA_PARTITIONS is ${expected}: omit --partitions, or change KAFKA_PARTITIONS for every process.`
    throw new CliError(message, EXIT.usage)
  }
  const outcomes = await createTopics(connection, { ...options, ...readConfig(keyRetentionConfig, env) })
  for (const [topic, outcome] of outcomes) print(`${topic}: ${outcome}`)
}

function wholeNumber(text: string): number {
  const number = Number(text)
  if (!/^\d{1,5}$/.test(text) || number < 1) throw new InvalidArgumentError('It must be a whole number, 1 or more.')
  return number
}
