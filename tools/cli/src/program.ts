import { Command, CommanderError } from 'commander'
import cli from '../package.json' with { type: 'json' }
import { EXIT, exitCodeOf, isOurs } from './errors.ts'
import { complain } from './output/print.ts'

interface CommandModule {
  readonly createCommand: (catalogTopic?: string) => Command
}

/**
 * All commands, frequent ones first, with their description in the list of commands. A command's code is imported on demand,
 * so that the list and other commands do not wait for it.
 */
const COMMANDS: Readonly<Record<string, readonly [string, () => Promise<CommandModule>]>> = {
  status: ['Show services, lag, alarms and dead letters.', () => import('./commands/status.ts')],
  why: ['Explain why a form did, or did not, reach a user.', () => import('./commands/why.ts')],
  apply: ['Apply a workspace file.', () => import('./commands/apply.ts')],
  refusals: ["Show a project's refused requests.", () => import('./commands/refusals.ts')],
  forms: ['Test forms on past records.', () => import('./commands/forms.ts')],
  changes: ['Show changes by operators.', () => import('./commands/changes.ts')],
  keys: ['Create API keys.', () => import('./commands/keys.ts')],
  export: ['Export records as NDJSON.', () => import('./commands/export.ts')],
  webhooks: ['Show, test, replay and hear webhooks.', () => import('./commands/webhooks.ts')],
  answers: ['Export the answers to a form.', () => import('./commands/answers.ts')],
  users: ['Export the data of a person; list suppressed users.', () => import('./commands/users.ts')],
  erase: ['Erase users for good.', () => import('./commands/erase.ts')],
  receipts: ['Verify receipts of erasures.', () => import('./commands/receipts.ts')],
  import: ['Import history from NDJSON.', () => import('./commands/import.ts')],
  'dead-letters': ['List, retry, set aside or discard bad records.', () => import('./commands/dead-letters.ts')],
  audit: ['Compare the read models with the log; read-only.', () => import('./commands/audit.ts')],
  replay: ["Rebuild a consumer's read models from the log.", () => import('./commands/replay.ts')],
  migrate: ['Prepare the databases.', () => import('./commands/migrate.ts')],
  topics: ['Create the topics of the log.', () => import('./commands/topics.ts')],
  env: ['Print the settings of the local stack.', () => import('./commands/env.ts')],
  demo: ['Apply the demo workspace and print commands to try it.', () => import('./commands/demo.ts')],
}

/** Runs the command line `argv`. Resolves to the exit code. Specs pass their own `catalogTopic`. */
export async function runProgram(argv: readonly string[], catalogTopic?: string): Promise<number> {
  // Once each, although specs run many commands in a process: Node warns of more than ten listeners, on standard error.
  process.stdout.off('error', onOutputFailed).on('error', onOutputFailed)
  process.stderr.off('error', ignore).on('error', ignore)
  const program = new Command('nextvisit')
    .helpCommand('help [command]', 'Show help for a command.')
    .version(cli.version, '--version', 'show the version')
    .option('--verbose', 'show the stack trace of an error')
    // The list must fit on a screen, so the command `help` is not in it.
    .configureHelp({ visibleOptions: ({ options }) => [...options], visibleCommands: ({ commands }) => [...commands] })
    .addHelpText(
      'after',
      '\nCommands act on a local stack, or the system in the environment (…_URLS: http://host:port, or dns+http://name:port). Exit: 0 done, 1 failed, 2 invalid input.\nExample:\n  nextvisit apply infra/demo-workspace.yaml',
    )
  for (const [name, [summary, load]] of Object.entries(COMMANDS)) {
    const command = argv.includes(name) ? (await load()).createCommand(catalogTopic) : new Command(name)
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

/** Ignores a closed standard error: the exit code reports the outcome. */
function ignore(): void {}

function onOutputFailed(error: NodeJS.ErrnoException): void {
  // A reader such as `head` has closed the pipe. The work continues, and the exit code reports the outcome.
  if (error.code === 'EPIPE') return
  complain(`Standard output cannot be written (${error.code}), so the output is incomplete.`)
  process.exit(EXIT.failed)
}

const UNEXPECTED =
  'Check the connections with nextvisit status and run the command again. If it fails again, report the output with --verbose.'

/** Prints an error, in one sentence if it is one of ours. Returns the exit code. */
function report(error: unknown, isVerbose: boolean): number {
  // Commander has already printed it.
  if (error instanceof CommanderError) return error.exitCode === 0 ? EXIT.done : EXIT.usage
  if (isVerbose || !(error instanceof Error)) console.error(error)
  else complain(isOurs(error) ? error.message : `Unexpected error: ${error.message.trim()}\n${UNEXPECTED}`)
  return exitCodeOf(error)
}
