import { Command, CommanderError } from 'commander'
import cli from '../package.json' with { type: 'json' }
import { EXIT, exitCodeOf, isOurs } from './errors.ts'
import { complain } from './output.ts'

interface CommandEntry {
  readonly name: string
  /** Description in the list of all commands. */
  readonly summary: string
  /** Loads the command's code on demand, so that the list and other commands do not wait for it. */
  readonly load: () => Promise<Command>
}

/** All commands, frequent ones first. */
const COMMANDS: readonly CommandEntry[] = [
  {
    name: 'status',
    summary: 'Show services, lag, alarms and dead letters.',
    load: async () => (await import('./commands/status.ts')).statusCommand(),
  },
  {
    name: 'why',
    summary: 'Explain why a form did, or did not, reach a user.',
    load: async () => (await import('./commands/why.ts')).whyCommand(),
  },
  {
    name: 'apply',
    summary: 'Apply a workspace file.',
    load: async () => (await import('./commands/apply.ts')).applyCommand(),
  },
  {
    name: 'refusals',
    summary: "Show a project's refused requests.",
    load: async () => (await import('./commands/refusals.ts')).refusalsCommand(),
  },
  {
    name: 'forms',
    summary: 'Test forms on past records.',
    load: async () => (await import('./commands/forms.ts')).formsCommand(),
  },
  {
    name: 'keys',
    summary: 'Create API keys.',
    load: async () => (await import('./commands/keys.ts')).keysCommand(),
  },
  {
    name: 'export',
    summary: 'Export records as NDJSON.',
    load: async () => (await import('./commands/export.ts')).exportCommand(),
  },
  {
    name: 'import',
    summary: 'Import history from NDJSON.',
    load: async () => (await import('./commands/import.ts')).importCommand(),
  },
  {
    name: 'dead-letters',
    summary: 'List, retry, set aside or discard bad records.',
    load: async () => (await import('./commands/dead-letters.ts')).deadLettersCommand(),
  },
  {
    name: 'audit',
    summary: 'Compare the read models with the log; read-only.',
    load: async () => (await import('./commands/audit.ts')).auditCommand(),
  },
  {
    name: 'replay',
    summary: "Rebuild a consumer's read models from the log.",
    load: async () => (await import('./commands/replay.ts')).replayCommand(),
  },
  {
    name: 'migrate',
    summary: 'Prepare the databases.',
    load: async () => (await import('./commands/migrate.ts')).migrateCommand(),
  },
  {
    name: 'topics',
    summary: 'Create the topics of the log.',
    load: async () => (await import('./commands/topics.ts')).topicsCommand(),
  },
  {
    name: 'env',
    summary: 'Print the settings of the local stack.',
    load: async () => (await import('./commands/env.ts')).envCommand(),
  },
  {
    name: 'demo',
    summary: 'Apply the demo workspace and print commands to try it.',
    load: async () => (await import('./commands/demo.ts')).demoCommand(),
  },
]

/** Runs the command line `argv`. Resolves to the exit code. */
export async function runProgram(argv: readonly string[]): Promise<number> {
  process.stdout.on('error', onOutputFailed)
  // A closed standard error is ignored: the exit code reports the outcome.
  process.stderr.on('error', () => {})
  const program = new Command('nextvisit')
    .helpCommand('help [command]', 'Show help for a command.')
    .description('Configures and monitors a local stack, or the system in the environment.')
    .version(cli.version, '--version', 'show the version')
    .option('--verbose', 'show the stack trace of an error')
    .addHelpText(
      'after',
      '\nCommands exit with 0 if done, 1 if refused or failed, 2 if the arguments or a file are invalid.\nExample:\n  nextvisit apply infra/demo-workspace.yaml',
    )
  for (const { name, summary, load } of COMMANDS) {
    const command = argv.includes(name) ? await load() : new Command(name)
    program.addCommand(command.summary(summary))
  }
  for (const command of [program, ...program.commands, ...program.commands.flatMap((group) => group.commands)]) {
    command.exitOverride().showHelpAfterError('(see --help)')
  }
  try {
    await program.parseAsync(argv)
    return Number(process.exitCode ?? EXIT.done)
  } catch (error) {
    return report(error, program.opts<{ verbose?: true }>().verbose === true)
  }
}

function onOutputFailed(error: NodeJS.ErrnoException): void {
  // A reader such as `head` has closed the pipe. The work continues, and the exit code reports the outcome.
  if (error.code === 'EPIPE') return
  complain(`Standard output cannot be written (${error.code}), so the output is incomplete.`)
  process.exit(EXIT.failed)
}

/** Prints an error, in one sentence if it is one of ours. Returns the exit code. */
function report(error: unknown, isVerbose: boolean): number {
  // Commander has already printed it.
  if (error instanceof CommanderError) return error.exitCode === 0 ? EXIT.done : EXIT.usage
  if (isVerbose || !(error instanceof Error)) console.error(error)
  else
    complain(
      isOurs(error) ? error.message : `${error.message}\nThis error was not expected; --verbose shows its stack trace.`,
    )
  return exitCodeOf(error)
}
