import { Command } from 'commander'
import { readEnvironment } from '../environment/config.ts'
import { CONSUMER_NAMES } from '../environment/consumer-database.ts'
import { discardDeadLetters, retryDeadLetters } from '../dead-letters/retry-and-discard.ts'
import { setAsideRecord } from '../dead-letters/request-set-aside.ts'
import { listDeadLetters, showDeadLetter } from '../dead-letters/show-dead-letters.ts'

export function createCommand(): Command {
  return new Command('dead-letters')
    .description(
      'Show, retry or discard records that a consumer could not parse; set aside a record that it cannot fold.',
    )
    .addHelpText(
      'after',
      `
A consumer stores a record that it cannot parse, and continues. Other consumers are not affected. Fix the consumer, then
retry. The consumer folds each record once, late, and queues no forms for it. A parsed record that the consumer fails
to fold halts its partition (see nextvisit status). set-aside makes it a dead letter, too.

Example:
  nextvisit dead-letters list
  nextvisit dead-letters show metering/12
  nextvisit dead-letters retry --service metering --cause 'value is not JSON'`,
    )
    .addCommand(listCommand())
    .addCommand(showCommand())
    .addCommand(retryCommand())
    .addCommand(discardCommand())
    .addCommand(setAsideCommand())
}

function listCommand(): Command {
  return new Command('list')
    .description('Count the dead letters by consumer and cause.')
    .option('--service <name>', `only of this consumer: ${CONSUMER_NAMES}`)
    .option('--all', 'also count retried and discarded letters')
    .option('--json', 'print JSON for scripts')
    .addHelpText(
      'after',
      `
Exits with 0 even if there are dead letters, 1 if a consumer's database does not answer, 2 if the arguments are
invalid. Reads each service's database address, such as METERING_DATABASE_URL, or DATABASE_URL for all.

Example:
  nextvisit dead-letters list --json | jq '.[] | {service, cause, dead}'`,
    )
    .action((flags) => listDeadLetters(readEnvironment(), flags))
}

function showCommand(): Command {
  return new Command('show')
    .description('Show a dead letter: its position in the log, cause, key and headers.')
    .argument('<letter>', 'name of the letter in the list')
    .option('--value', 'also show the value, which may contain personal data')
    .addHelpText(
      'after',
      '\nExits with 0 if done, 1 if the letter does not exist, 2 if the arguments are invalid.\n\nExample:\n  nextvisit dead-letters show metering/12',
    )
    .action((letter: string, flags) => showDeadLetter(readEnvironment(), letter, flags))
}

function retryCommand(): Command {
  return selecting(new Command('retry'))
    .description('Make the consumer retry dead letters, each once, and show the result.')
    .option('--no-wait', 'do not wait for the consumer')
    .addHelpText(
      'after',
      `
Waits while their number decreases. Exits with 0 when all are folded, 1 if some failed again, the consumer has not
reached them or an --id does not exist, 2 if the arguments are invalid. The letters are folded late:
if the order of a user's records matters, replay the consumer afterwards.

Example:
  nextvisit dead-letters retry --service metering --id 12 --id 13`,
    )
    .action((flags) => retryDeadLetters(readEnvironment(), flags))
}

function discardCommand(): Command {
  return selecting(new Command('discard'))
    .description('Discard dead letters. They stay stored, but are never folded.')
    .option('--yes', 'discard them; without it, only show their number')
    .addHelpText(
      'after',
      "\nExits with 0 if done or nothing to discard, 1 if failed or an --id does not exist, 2 if the arguments are invalid or --yes is missing.\n\nExample:\n  nextvisit dead-letters discard --service metering --cause 'value is not JSON' --yes",
    )
    .action((flags) => discardDeadLetters(readEnvironment(), flags))
}

function setAsideCommand(): Command {
  return new Command('set-aside')
    .description('Make the record or batch that halts a partition a dead letter, so that the partition continues.')
    .argument('<service>', `the consumer: ${CONSUMER_NAMES}`)
    .argument('<topic>', 'topic in nextvisit status')
    .argument('<partition>', 'number of the halted partition')
    .argument('<offset>', 'offset at which the partition is halted')
    .option('--no-wait', 'do not wait for the consumer')
    .addHelpText(
      'after',
      `
The partition's owner stores the dead letter within seconds, without a restart. Retry it after the consumer is fixed.
Exits with 0 if done now or before, 1 if the partition is not halted at this offset or the owner has not done it within
20 s, 2 if the arguments are invalid.

Example:
  nextvisit dead-letters set-aside metering user-events 3 1704`,
    )
    .action((service: string, topic: string, partition: string, offset: string, flags) =>
      setAsideRecord(readEnvironment(), { service, topic, partition, offset }, flags),
    )
}

function selecting(command: Command): Command {
  return command
    .requiredOption('--service <name>', `the consumer: ${CONSUMER_NAMES}`)
    .option('--id <id>', 'a letter by id; may be repeated', (id: string, ids?: string[]) => [...(ids ?? []), id])
    .option('--cause <cause>', 'all letters with this cause (see list)')
    .option('--all', 'all letters')
}
