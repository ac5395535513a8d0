import { Command } from 'commander'
import { readEnvironment } from '../config.ts'
import { CONSUMER_NAMES } from '../consumer-database.ts'
import { discardLetters, listLetters, retryLetters, showLetter } from '../dead-letters/dead-letter-actions.ts'

export function deadLettersCommand(): Command {
  return new Command('dead-letters')
    .summary('Deal with records that could not be parsed.')
    .description('Deal with records that a consumer could not parse.')
    .addHelpText(
      'after',
      `
A consumer that cannot parse a record keeps it whole and goes on; the others are not concerned. Mend the consumer, then
retry: it folds each record once, late, and queues nothing of it.

Example:
  nextvisit dead-letters list
  nextvisit dead-letters show metering/12
  nextvisit dead-letters retry --service metering --cause 'value is not JSON'`,
    )
    .addCommand(listCommand())
    .addCommand(showCommand())
    .addCommand(retryCommand())
    .addCommand(discardCommand())
}

function listCommand(): Command {
  return new Command('list')
    .description('Show how many dead letters there are, by consumer and cause.')
    .option('--service <name>', `of one consumer alone: ${CONSUMER_NAMES}`)
    .option('--all', 'also those that were retried or discarded')
    .option('--json', 'for scripts')
    .addHelpText(
      'after',
      `
Ends with 0 also where there are some: it is the answer. With 1 where a consumer's database does not answer, 2 called
wrongly. Asks each service's database address, such as METERING_DATABASE_URL, or DATABASE_URL for all.

Example:
  nextvisit dead-letters list --json | jq '.[] | {service, cause, dead}'`,
    )
    .action((flags) => listLetters(readEnvironment(), flags))
}

function showCommand(): Command {
  return new Command('show')
    .description('Show one dead letter: where it is in the log, what is wrong with it, its key and headers.')
    .argument('<letter>', 'as list names it')
    .option('--value', "the record's value, too; it may hold personal data")
    .addHelpText(
      'after',
      '\nEnds with 0 done, 1 where there is none, 2 called wrongly.\n\nExample:\n  nextvisit dead-letters show metering/12',
    )
    .action((letter: string, flags) => showLetter(readEnvironment(), letter, flags))
}

function retryCommand(): Command {
  return selecting(new Command('retry'))
    .description('Have the consumer try dead letters again, each once, and tell what came of it.')
    .option('--no-wait', 'do not wait for the consumer')
    .addHelpText(
      'after',
      `
Waits for as long as they become fewer. Ends with 0 once all are folded, 1 if some are dead again, the consumer has not
come to them or an --id is not there, 2 called wrongly; look again with nextvisit dead-letters list. They are folded late:
where the order of a user's records matters, replay the consumer afterwards.

Example:
  nextvisit dead-letters retry --service metering --id 12 --id 13`,
    )
    .action((flags) => retryLetters(readEnvironment(), flags))
}

function discardCommand(): Command {
  return selecting(new Command('discard'))
    .description('Give dead letters up: they are kept, and never folded.')
    .option('--yes', 'do it; without it, only tell how many it would be')
    .addHelpText(
      'after',
      "\nEnds with 0 done or nothing to discard, 1 failed or an --id is not there, 2 called wrongly or without --yes.\n\nExample:\n  nextvisit dead-letters discard --service metering --cause 'value is not JSON' --yes",
    )
    .action((flags) => discardLetters(readEnvironment(), flags))
}

function selecting(command: Command): Command {
  return command
    .requiredOption('--service <name>', `the consumer: ${CONSUMER_NAMES}`)
    .option('--id <id>', 'this one; as often as needed', (id: string, ids?: string[]) => [...(ids ?? []), id])
    .option('--cause <cause>', 'all with this cause, as list shows it')
    .option('--all', 'all of them')
}
