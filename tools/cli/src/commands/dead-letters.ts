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
A consumer stores a record that it cannot parse, and continues. Other consumers are not affected, but may store the same
record. Fix the consumers, then retry. One command decides in each consumer that has the record. The consumer folds each
record once, late. It queues no forms for the record. A parsed record that the consumer fails to fold halts its partition
(see nextvisit status). set-aside makes it a dead letter, too.

Example:
  nextvisit dead-letters list --records
  nextvisit dead-letters show metering/12
  nextvisit dead-letters retry --record user-events/3/1704`,
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
    .option('--records', 'list the records instead, each with the consumers that cannot read it')
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
    .description('Make the consumers retry dead letters, each once, and show the results.')
    .option('--no-wait', 'do not wait for the consumer')
    .addHelpText(
      'after',
      `
Decides in every consumer that has the letters, and lists the outcome of each. Waits while their number decreases.
If a consumer does not answer, the others decide. Run the command again: those that have decided keep their decision.
Exits with 0 when all are folded, 1 if some failed again, a consumer has not reached them or did not answer, or an --id
or --record does not exist, 2 if the arguments are invalid. The letters are folded late: if the order of a user's
records matters, replay the consumers afterwards.

Example:
  nextvisit dead-letters retry --record user-events/3/1704
  nextvisit dead-letters retry --service metering --cause 'value is not JSON'`,
    )
    .action((flags) => retryDeadLetters(readEnvironment(), flags))
}

function discardCommand(): Command {
  return selecting(new Command('discard'))
    .description('Discard dead letters. They stay stored, but are never folded.')
    .option('--yes', 'discard them; without it, only show their number')
    .addHelpText(
      'after',
      `
Decides in every consumer that has the letters, and lists the outcome of each. If a consumer does not answer, the others
decide. Run the command again: those that have decided keep their decision.
Exits with 0 if done or nothing to discard, 1 if a consumer failed or an --id or --record does not exist, 2 if the
arguments are invalid or --yes is missing.

Example:
  nextvisit dead-letters discard --record user-events/3/1704 --yes
  nextvisit dead-letters discard --service metering --cause 'value is not JSON' --yes`,
    )
    .action((flags) => discardDeadLetters(readEnvironment(), flags))
}

function setAsideCommand(): Command {
  return new Command('set-aside')
    .description('Make the record or batch that halts a partition a dead letter, so that the partition continues.')
    .argument('<service>', `the consumer, or all: every one that it halts. Consumers: ${CONSUMER_NAMES}`)
    .argument('<topic>', 'topic in nextvisit status')
    .argument('<partition>', 'number of the halted partition')
    .argument('<offset>', 'offset at which the partition is halted')
    .option('--no-wait', 'do not wait for the consumer')
    .addHelpText(
      'after',
      `
The partition's owner stores the dead letter within seconds, without a restart. Retry it after the consumer is fixed.
With all, each consumer that the record halts sets it aside; the outcome is listed for each, and the command may be repeated.
Exits with 0 if done now or before, 1 if no partition is halted at this offset, an owner has not done it within 20 s, or a
consumer does not answer or has not passed the offset yet, 2 if the arguments are invalid.

Example:
  nextvisit dead-letters set-aside metering user-events 3 1704
  nextvisit dead-letters set-aside all user-events 3 1704`,
    )
    .action((service: string, topic: string, partition: string, offset: string, flags) =>
      setAsideRecord(readEnvironment(), { service, topic, partition, offset }, flags),
    )
}

function selecting(command: Command): Command {
  return command
    .option('--record <record>', 'the letters of a record, topic/partition/offset; may be repeated', repeated)
    .option('--id <id>', 'a letter by its name in the list; may be repeated', repeated)
    .option('--cause <cause>', 'all letters with this cause (see list)')
    .option('--all', 'all letters')
    .option('--service <name>', `only in this consumer; default: in each that has such letters: ${CONSUMER_NAMES}`)
}

function repeated(value: string, values?: string[]): string[] {
  return [...(values ?? []), value]
}
