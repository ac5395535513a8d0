import { type Change, changeLine, pageWarning, problemLine } from '@nextvisit/catalog'
import { type OrganizationConfig, TOPICS } from '@nextvisit/contracts'
import type { LogConnection } from '@nextvisit/log'
import type { KeyRing } from '@nextvisit/sealing'
import { keyRingConfig, readConfig } from '@nextvisit/service-kit'
import { Command } from 'commander'
import { changeAuthor, NotRecordedError } from '../changes/record-change.ts'
import { logConnection, operatingUser, readEnvironment } from '../environment/config.ts'
import { CliError } from '../errors.ts'
import { print, styled } from '../output/print.ts'
import { applyWorkspace } from '../workspace/apply-workspace.ts'
import { awaitViews } from '../workspace/await-views.ts'
import { webhookWarnings } from '../workspace/check-webhook.ts'
import { readWorkspace } from '../workspace/read-workspace.ts'

interface ApplyFlags {
  readonly prune?: true
  readonly dryRun?: true
  readonly overwrite?: true
}

export function createCommand(): Command {
  return new Command('apply')
    .description('Change organizations, projects, keys, segments, forms and webhooks to match a workspace file.')
    .argument('<file>', 'the workspace file')
    .option('--dry-run', 'show the difference and change nothing')
    .option('--prune', 'remove the organizations that the file does not name')
    .option('--overwrite', 'also replace a revision that this version of nextvisit does not understand')
    .addHelpText(
      'after',
      `
In the organizations that the file names, apply removes everything that the file no longer contains: a key is revoked, a form is never
shown again. Lines with ! are warnings about the file. $NAME in secret and signingSecret is read from the environment; secrets of webhooks and signing secrets need
NEXTVISIT_SECRET_KEY. If it has several keys, apply encrypts all secrets of the file with the first one.
Exits with 0 when every running service has the new revision and understands it, 1 if not or if it was refused or failed, 2 if
the file or the arguments are invalid.

Example:
  ACME_BACKEND_KEY=nv_admin_P_… nextvisit apply workspace.yaml --dry-run`,
    )
    .action((file: string, flags: ApplyFlags) => apply(file, flags))
}

/** Runs the command. Specs pass their own `topic`. */
export async function apply(file: string, flags: ApplyFlags, topic: string = TOPICS.catalog): Promise<void> {
  const env = readEnvironment()
  const { organizations, contents } = await readWorkspace(file)
  const connection = logConnection(env)
  const { keyRing } = readConfig(keyRingConfig, env)
  const applied = await applyWorkspace({
    connection,
    organizations,
    contents,
    prune: flags.prune ?? false,
    dryRun: flags.dryRun ?? false,
    overwrite: flags.overwrite ?? false,
    appliedBy: operatingUser(),
    author: changeAuthor(env),
    file,
    keyRing,
    onDifference: (changes) => {
      printDifference(changes)
      printWarnings(organizations)
    },
    topic,
  })
  const named = new Set(organizations.map(({ id }) => id))
  switch (applied.outcome) {
    case 'dry-run':
      return print('Nothing was changed: this was a dry run.')
    case 'not-recorded':
      throw new NotRecordedError()
    case 'refused':
      throw new CliError(`${applied.reason} Nothing was changed.`)
    case 'not-applied':
      throw new CliError(notApplied(applied.lost, applied.missing))
    case 'unchanged':
      return awaitServices(connection, topic, named)
    case 'applied':
      for (const [organization, revision] of applied.revisions) print(`${organization} is at revision ${revision}.`)
      if (applied.reencrypted > 0) print(reencryptedLine(applied.reencrypted, keyRing))
      return awaitServices(connection, topic, new Set([...named, ...applied.revisions.keys()]))
  }
}

const STYLES = { '+': 'green', '~': 'yellow', '-': 'red' } as const

function printDifference(changes: readonly Change[]): void {
  if (changes.length === 0) print('The configuration already matches the file.')
  for (const change of changes) print(styled(STYLES[change.sign], changeLine(change)))
}

/** Warns about projects whose pages anyone can imitate, and webhooks that few dispatchers send, until the file says otherwise. */
function printWarnings(organizations: readonly OrganizationConfig[]): void {
  for (const organization of organizations) {
    const ofPages = organization.projects.flatMap(
      (config) => pageWarning({ organization: organization.id, project: config.id, config }) ?? [],
    )
    for (const warning of [...ofPages, ...webhookWarnings(organization)]) print(styled('yellow', `! ${warning}`))
  }
}

function reencryptedLine(count: number, keyRing: KeyRing | undefined): string {
  return `${count === 1 ? '1 secret' : `${count} secrets`} re-encrypted with key ${keyRing?.newestKeyId}.`
}

function notApplied(lost: readonly string[], missing: readonly string[]): string {
  return [
    ...(lost.length > 0 ? [`Another apply changed ${lost.join(', ')} at the same moment and came first.`] : []),
    ...(missing.length > 0 ? [`The change of ${missing.join(', ')} is not in the log.`] : []),
    'Check the current difference with --dry-run, and apply again.',
  ].join('\n')
}

async function awaitServices(connection: LogConnection, topic: string, named: ReadonlySet<string>): Promise<void> {
  const { current, lagging, silent, problems } = await awaitViews({ connection, topic })
  for (const problem of problems) print(styled('red', problemLine(problem)))
  if (lagging.length > 0) {
    throw new CliError(
      `The change is in the log, but some running services have not confirmed it: ${lagging.join(', ')}.\n` +
        'Check their logs. Each service reads the change as soon as it reaches Kafka.',
    )
  }
  if (problems.some(({ organization }) => named.has(organization))) {
    throw new CliError(
      'The change is in the log, but some running services do not understand all of it. Keys are safe: revoked keys\n' +
        'are refused. Upgrade these services: see docs/runbooks/upgrade.md.',
    )
  }
  if (silent.length > 0) {
    throw new CliError(
      `The change is in the log, but these services run a release that does not report its catalog: ${silent.join(', ')}.\n` +
        'They may ignore the change, including revoked keys. Upgrade them: see docs/runbooks/upgrade.md.',
    )
  }
  print(current.length === 0 ? 'No service is running.' : `Every running service has it (${current.length}).`)
}
