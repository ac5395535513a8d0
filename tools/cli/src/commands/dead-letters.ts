import { Command } from 'commander'
import { readEnvironment } from '../config.ts'
import { CONSUMER_NAMES } from '../consumer-database.ts'
import { discardDeadLetters, retryDeadLetters } from '../dead-letters/decide-dead-letters.ts'
import { setAsideRecord } from '../dead-letters/set-aside.ts'
import { listDeadLetters, showDeadLetter } from '../dead-letters/show-dead-letters.ts'

export function deadLettersCommand(): Command {
  return new Command('dead-letters')
    .description('Show, retry or discard records that a consumer could not parse; set one aside that it cannot fold.')
    .addHelpText(
      'after',
      `
A consumer that cannot parse a record stores it and continues; other consumers are not affected. Fix the consumer, then
retry: it folds each record once, late, and queues nothing for it. A record that is parsed, but that the consumer fails
to fold, halts its partition (nextvisit status); set-aside makes it a dead letter, too.

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
    .description('Show how many dead letters there are, by consumer and cause.')
    .option('--service <name>', `only of this consumer: ${CONSUMER_NAMES}`)
    .option('--all', 'also those that were retried or discarded')
    .option('--json', 'for scripts')
    .addHelpText(
      'after',
      `
Exits with 0 even if there are dead letters, 1 if a consumer's database does not answer, 2 if the arguments are
wrong. Reads each service's database address, such as METERING_DATABASE_URL, or DATABASE_URL for all.

Example:
  nextvisit dead-letters list --json | jq '.[] | {service, cause, dead}'`,
    )
    .action((flags) => listDeadLetters(readEnvironment(), flags))
}

function showCommand(): Command {
  return new Command('show')
    .description('Show one dead letter: its position in the log, what is wrong with it, its key and headers.')
    .argument('<letter>', 'its name in the list')
    .option('--value', 'also show the value, which may contain personal data')
    .addHelpText(
      'after',
      '\nExits with 0 if done, 1 if there is no such letter, 2 if the arguments are wrong.\n\nExample:\n  nextvisit dead-letters show metering/12',
    )
    .action((letter: string, flags) => showDeadLetter(readEnvironment(), letter, flags))
}

function retryCommand(): Command {
  return selecting(new Command('retry'))
    .description('Let the consumer retry dead letters, each once, and show the result.')
    .option('--no-wait', 'do not wait for the consumer')
    .addHelpText(
      'after',
      `
Waits as long as their number falls. Exits with 0 when all are folded, 1 if some failed again, the consumer has not
reached them or an --id does not exist, 2 if the arguments are wrong; see nextvisit dead-letters list. They are folded late:
if the order of a user's records matters, replay the consumer afterwards.

Example:
  nextvisit dead-letters retry --service metering --id 12 --id 13`,
    )
    .action((flags) => retryDeadLetters(readEnvironment(), flags))
}

function discardCommand(): Command {
  return selecting(new Command('discard'))
    .description('Discard dead letters: they are kept, but never folded.')
    .option('--yes', 'do it; without this option, only show how many it would discard')
    .addHelpText(
      'after',
      "\nExits with 0 if done or nothing to discard, 1 if failed or an --id does not exist, 2 if the arguments are wrong or --yes is missing.\n\nExample:\n  nextvisit dead-letters discard --service metering --cause 'value is not JSON' --yes",
    )
    .action((flags) => discardDeadLetters(readEnvironment(), flags))
}

function setAsideCommand(): Command {
  return new Command('set-aside')
    .description('Make the record that a partition is halted at a dead letter, so that the partition continues.')
    .argument('<service>', `the consumer: ${CONSUMER_NAMES}`)
    .argument('<topic>', 'as nextvisit status shows it')
    .argument('<partition>', 'its number')
    .argument('<offset>', 'at which the partition is halted')
    .option('--no-wait', 'do not wait for the consumer')
    .addHelpText(
      'after',
      `
The owner of the partition does it within seconds, without a restart. Retry the dead letter once the consumer is fixed.
Exits with 0 if done or done before, 1 if the partition is not halted at this offset or the consumer has not done it within
20 s, 2 if the arguments are wrong.

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
    .option('--id <id>', 'this letter; may be repeated', (id: string, ids?: string[]) => [...(ids ?? []), id])
    .option('--cause <cause>', 'all letters with this cause, as shown by list')
    .option('--all', 'all letters')
}
