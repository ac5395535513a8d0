import { DEFAULT_PARTITIONS } from '@nextvisit/contracts'
import { Command, InvalidArgumentError } from 'commander'
import { logConnection, readEnvironment } from '../config.ts'
import { createTopics, type TopicsOptions } from '../create-topics.ts'
import { print } from '../output.ts'

export function topicsCommand(): Command {
  return new Command('topics')
    .description('Prepare the log.')
    .addHelpText('after', '\nExample:\n  KAFKA_BROKERS=kafka:9092 nextvisit topics create --replicas 3')
    .addCommand(
      new Command('create')
        .description('Make the topics that are not there yet; those that are stay as they are.')
        .option(
          '--partitions <n>',
          'of user-events and form-events; can never be changed',
          wholeNumber,
          DEFAULT_PARTITIONS,
        )
        .option('--replicas <n>', 'copies of each record; 3 or more in production (default: the broker’s)', wholeNumber)
        .addHelpText(
          'after',
          '\nEnds with 0 done, 1 failed, 2 called wrongly.\n\nExample:\n  KAFKA_BROKERS=kafka:9092 nextvisit topics create --replicas 3',
        )
        .action(makeTopics),
    )
}

async function makeTopics(options: TopicsOptions): Promise<void> {
  const made = await createTopics(logConnection(readEnvironment()), options)
  for (const [topic, state] of made) print(`${topic}: ${state}`)
}

function wholeNumber(text: string): number {
  const number = Number(text)
  if (!/^\d{1,5}$/.test(text) || number < 1) throw new InvalidArgumentError('It must be a whole number, 1 or more.')
  return number
}
