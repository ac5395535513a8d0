import { consumers } from '@nextvisit/services'
import { Command } from 'commander'
import { readEnvironment, requireLog } from '../config.ts'
import { print } from '../output.ts'

const NAMES = [
  'KAFKA_BROKERS',
  'REDIS_URL',
  'NEXTVISIT_SECRET_KEY',
  ...consumers.map(({ databaseVariable }) => databaseVariable),
]

export function envCommand(): Command {
  return new Command('env')
    .description('Print how to reach the local stack, as shell commands. The output contains passwords.')
    .addHelpText(
      'after',
      '\nExits with 0 if done, 2 if no local stack runs.\n\nExample:\n  eval "$(npx -y pnpm --silent nextvisit env)"',
    )
    .action(printEnvironment)
}

function printEnvironment(): void {
  const env = readEnvironment()
  requireLog(env)
  for (const name of NAMES) {
    const value = env[name]
    if (value !== undefined) print(`export ${name}='${value.replaceAll("'", `'\\''`)}'`)
  }
}
