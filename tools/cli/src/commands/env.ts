import { consumers } from '@nextvisit/services'
import { Command } from 'commander'
import { localStack, noLocalStack, readEnvironment } from '../environment/config.ts'
import { CliError, EXIT } from '../errors.ts'
import { print } from '../output/print.ts'

const NAMES = [
  'KAFKA_BROKERS',
  'KAFKA_PARTITIONS',
  'REDIS_URL',
  'NEXTVISIT_SECRET_KEY',
  ...consumers.map(({ databaseVariable }) => databaseVariable),
]

export function createCommand(): Command {
  return new Command('env')
    .description('Print the settings of the local stack as shell commands. The output contains passwords.')
    .addHelpText(
      'after',
      '\nExits with 0 if done, 2 if no local stack runs.\n\nExample:\n  eval "$(npx -y pnpm --silent nextvisit env)"',
    )
    .action(printEnvironment)
}

function printEnvironment(): void {
  // Ignores addresses of another system, or of an earlier start, in the environment.
  const stack = localStack()
  if (!stack)
    throw new CliError(`${noLocalStack(readEnvironment(), 'No')}. Start one with npx -y pnpm start.`, EXIT.usage)
  for (const name of NAMES) {
    const value = stack[name]
    if (value !== undefined) print(`export ${name}='${value.replaceAll("'", `'\\''`)}'`)
  }
}
