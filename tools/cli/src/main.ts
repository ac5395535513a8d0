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
  // Whoever reads along, such as `head`, has read enough.
  if (error.code === 'EPIPE') process.exit(EXIT.done)
  complain(`Standard output cannot be written (${error.code}), so what is there is not whole.`)
  process.exit(EXIT.failed)
})

const program = new Command('nextvisit')
  .helpCommand('help [command]', 'Tell more about a command.')
  .description('Configures and watches Nextvisit; finds a local stack by itself.')
  .option('--verbose', 'show where an error came from')
  .addHelpText(
    'after',
    '\nCommands end with 0 done, 1 refused or failed, 2 called wrongly or given an invalid file.\n\nExample:\n  nextvisit apply infra/demo-workspace.yaml',
  )

// From daily to rare.
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

/** Tells what went wrong in one sentence where we know it; returns the exit code. */
function report(error: unknown): number {
  // It has told already.
  if (error instanceof CommanderError) return error.exitCode === 0 ? EXIT.done : EXIT.usage
  const isVerbose = program.opts<{ verbose?: true }>().verbose === true
  // Errors of ours carry a code and a sentence that says what to do.
  const isOurs = error instanceof Error && 'code' in error && 'retryable' in error
  if (isVerbose || !(error instanceof Error)) console.error(error)
  else complain(isOurs ? error.message : `${error.message}\nThis was not expected; --verbose shows where it came from.`)
  if (error instanceof ConfigError) return EXIT.usage
  return error instanceof CliError ? error.exitCode : EXIT.failed
}
