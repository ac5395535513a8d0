import { TOPICS } from '@nextvisit/contracts'
import type { LogConnection } from '@nextvisit/log'
import { Command } from 'commander'
import { logConnection, operatingUser, readEnvironment } from '../config.ts'
import { CliError } from '../errors.ts'
import { print, styled } from '../output.ts'
import { applyWorkspace } from '../workspace/apply-workspace.ts'
import { awaitViews } from '../workspace/await-views.ts'
import { type Change, changeLine } from '../workspace/diff-catalog.ts'
import { readWorkspace } from '../workspace/read-workspace.ts'

export interface ApplyFlags {
  readonly prune?: true
  readonly dryRun?: true
}

export function applyCommand(): Command {
  return new Command('apply')
    .summary('Bring the configuration to what a file says.')
    .description('Bring organizations, projects, keys, segments and forms to what a workspace file says.')
    .argument('<file>', 'the workspace file')
    .option('--dry-run', 'show the difference and change nothing')
    .option('--prune', 'remove the organizations that the file does not name')
    .addHelpText(
      'after',
      `
What the file no longer has is removed from the organizations that it names: a key is revoked, a form is never shown
again. $NAME in secret and signingSecret is taken from the environment; signing secrets need NEXTVISIT_SECRET_KEY.
Ends with 0 once every running service has the new revision, 1 if it was refused or failed, 2 if the file is invalid or
it was called wrongly.

Example:
  ACME_BACKEND_KEY=nv_admin_P_… nextvisit apply workspace.yaml --dry-run`,
    )
    .action((file: string, flags: ApplyFlags) => apply(file, flags))
}

/** The command itself; `topic` is another one in tests. */
export async function apply(file: string, flags: ApplyFlags, topic: string = TOPICS.catalog): Promise<void> {
  const env = readEnvironment()
  const organizations = await readWorkspace(file)
  const connection = logConnection(env)
  const applied = await applyWorkspace({
    connection,
    organizations,
    prune: flags.prune ?? false,
    dryRun: flags.dryRun ?? false,
    appliedBy: operatingUser(),
    secretKey: env['NEXTVISIT_SECRET_KEY'],
    onDifference: printDifference,
    topic,
  })
  switch (applied.outcome) {
    case 'dry-run':
      return print('Nothing was changed: this was a dry run.')
    case 'refused':
      throw new CliError(`${applied.reason} Nothing was changed.`)
    case 'not-applied':
      throw new CliError(notApplied(applied.lost, applied.missing))
    case 'unchanged':
      return awaitServices(connection, topic, applied.end)
    case 'applied':
      for (const [organization, revision] of applied.revisions) print(`${organization} is at revision ${revision}.`)
      return awaitServices(connection, topic, applied.end)
  }
}

const STYLES = { '+': 'green', '~': 'yellow', '-': 'red' } as const

function printDifference(changes: readonly Change[]): void {
  if (changes.length === 0) print('The file says what is there already.')
  for (const change of changes) print(styled(STYLES[change.sign], changeLine(change)))
}

function notApplied(lost: readonly string[], missing: readonly string[]): string {
  return [
    ...(lost.length > 0 ? [`Somebody else changed ${lost.join(', ')} at the same moment, and theirs came first.`] : []),
    ...(missing.length > 0 ? [`The log has not taken the change of ${missing.join(', ')}.`] : []),
    'See what is there now with --dry-run, and apply again.',
  ].join('\n')
}

async function awaitServices(connection: LogConnection, topic: string, end: bigint): Promise<void> {
  const { current, lagging } = await awaitViews({ connection, topic, end })
  if (lagging.length === 0) {
    return print(current.length === 0 ? 'No service runs.' : `Every running service has it (${current.length}).`)
  }
  throw new CliError(
    `It is in the log, but not every running service has said that it has it: ${lagging.join(', ')}.\n` +
      'Look at their logs; each takes it in as soon as it reaches the log.',
  )
}
