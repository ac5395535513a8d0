#!/usr/bin/env node
import { Command, CommanderError } from 'commander'
import { applyCommand } from './commands/apply.ts'
import { deadLettersCommand } from './commands/dead-letters.ts'
import { auditCommand } from './commands/audit.ts'
import { demoCommand } from './commands/demo.ts'
import { envCommand } from './commands/env.ts'
import { formsCommand } from './commands/forms.ts'
import { exportCommand } from './commands/export.ts'
import { importCommand } from './commands/import.ts'
import { keysCommand } from './commands/keys.ts'
import { migrateCommand } from './commands/migrate.ts'
import { replayCommand } from './commands/replay.ts'
import { statusCommand } from './commands/status.ts'
import { topicsCommand } from './commands/topics.ts'
import { whyCommand } from './commands/why.ts'
import { ConfigError } from '@nextvisit/service-kit'
import { CliError, EXIT } from './errors.ts'
import { complain } from './output.ts'

process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  // A reader such as `head` has closed the pipe.
  if (error.code === 'EPIPE') process.exit(EXIT.done)
  complain(`Standard output cannot be written (${error.code}), so what is there is not whole.`)
  process.exit(EXIT.failed)
})

const program = new Command('nextvisit')
  .helpCommand('help [command]', 'Show help for a command.')
  .description('Configures and monitors Nextvisit. It finds a local stack without configuration.')
  .option('--verbose', 'show where an error came from')
  .addHelpText(
    'after',
    '\nCommands exit with 0 if done, 1 if refused or failed, 2 if the arguments or a file are invalid.\n\nExample:\n  nextvisit apply infra/demo-workspace.yaml',
  )

// Frequent commands first.
for (const command of [
  statusCommand(),
  whyCommand(),
  applyCommand(),
  formsCommand(),
  keysCommand(),
  exportCommand(),
  importCommand(),
  deadLettersCommand(),
  auditCommand(),
  replayCommand(),
  migrateCommand(),
  topicsCommand(),
  envCommand(),
  demoCommand(),
]) {
  program.addCommand(command)
}
for (const command of [program, ...program.commands, ...program.commands.flatMap((group) => group.commands)]) {
  command.exitOverride().showHelpAfterError('(--help shows how)')
}

try {
  await program.parseAsync()
} catch (error) {
  process.exitCode = report(error)
}

/** Prints what went wrong, in one sentence if it is known. Returns the exit code. */
function report(error: unknown): number {
  // Commander has printed it already.
  if (error instanceof CommanderError) return error.exitCode === 0 ? EXIT.done : EXIT.usage
  const isVerbose = program.opts<{ verbose?: true }>().verbose === true
  // Our own errors have a code and a message that says what to do.
  const isOurs = error instanceof Error && 'code' in error && 'retryable' in error
  if (isVerbose || !(error instanceof Error)) console.error(error)
  else complain(isOurs ? error.message : `${error.message}\nThis was not expected; --verbose shows where it came from.`)
  if (error instanceof ConfigError) return EXIT.usage
  return error instanceof CliError ? error.exitCode : EXIT.failed
}
