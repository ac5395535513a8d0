import { type ProjectRef, TOPICS, Uuid } from '@nextvisit/contracts'
import { checkUserName, userIdOf } from '@nextvisit/domain'
import { addressesConfig, internalTokenConfig } from '@nextvisit/service-kit'
import { Command, InvalidArgumentError } from 'commander'
import { recordChange } from '../changes/record-change.ts'
import { logConnection, readEnvironment, readSettings } from '../environment/config.ts'
import { CliError, EXIT } from '../errors.ts'
import { openOutput } from '../export/output-file.ts'
import { completeProject, PROJECT_HELP, projectName, type ProjectName, requireProject } from '../find-project.ts'
import { parseProject } from '../options.ts'
import { complain } from '../output/print.ts'
import { createSuppressionCommands } from '../erasures/suppression-commands.ts'
import { createProgress, formatCount } from '../output/progress.ts'
import { ASKED_SERVICES, exportPerson } from '../users-export/export-person.ts'

interface ExportFlags {
  readonly project: ProjectName
  readonly user?: string
  readonly userId?: string
}

export function createCommand(): Command {
  const users = new Command('users')
    .description('Export the data of a person; list suppressed users, and delete suppressions.')
    .addHelpText(
      'after',
      '\nExample:\n  nextvisit users export --project acme/shop --user ada@example.com > ada.ndjson',
    )
    .addCommand(
      new Command('export')
        .description('Write everything known about a person to standard output as NDJSON, one object per line.')
        .requiredOption('--project <project>', PROJECT_HELP, parseProject)
        .option('--user <userName>', 'exactly as given to identify-user')
        .option('--user-id <userId>', 'instead of --user, such as of a refusal', parseUserId)
        .addHelpText(
          'after',
          `
The first line has the type export and lists the sources, the last one has the type summary and counts lines by type: a file
without it is truncated. In between: profile, event-count, segment, kept-answers, queued-form, shown-form, decision (with the values that gates
compared), active-month, erasure, dead-letter, refusal, record. docs/reference/cli.md describes them. Reads the person's partitions of user-events
and form-events from the beginning; progress is on standard error. The file contains personal data: store it accordingly.
Reads KAFKA_BROKERS, NEXTVISIT_SECRET_KEY, which opens the records, INTERNAL_TOKEN and the …_URLS of all services.
Nothing of an erased person is written: records before the erasure are left out, whatever keys there are.
Exits with 0 if everything was read, 1 if there is no such person or a source could not be read (named on standard error and in the
summary), 2 if the arguments are invalid.

Example:
  nextvisit users export --project acme/shop --user ada@example.com > ada.ndjson
  nextvisit users export --project shop --user ada@example.com | jq 'select(.type == "record") | .value'`,
        )
        .action((flags: ExportFlags) => exportUser(flags)),
    )
  for (const command of createSuppressionCommands()) users.addCommand(command)
  return users
}

function parseUserId(text: string): string {
  const { data } = Uuid.safeParse(text)
  if (data !== undefined) return data.toLowerCase()
  throw new InvalidArgumentError('It must be a UUID, as answered by identify-user.')
}

async function exportUser({ project: name, user, userId }: ExportFlags): Promise<void> {
  if ((user === undefined) === (userId === undefined))
    throw new CliError('Name the person by --user or by --user-id.', EXIT.usage)
  const rejection = user === undefined ? undefined : checkUserName(user)
  if (rejection) throw new CliError(`--user: ${rejection.message}.`, EXIT.usage)
  const env = readEnvironment()
  const connection = logConnection(env)
  const { services, internalToken: token } = readSettings(
    addressesConfig(...ASKED_SERVICES).and(internalTokenConfig),
    env,
  )
  const project = await completeProject(name, env, TOPICS.catalog)
  const { write, complete } = await openOutput('-')
  const startedAt = performance.now()
  const progress = createProgress()
  const { organization, project: projectId } = project
  const person = { ...project, userName: user, userId: userId ?? userIdOf(organization, projectId, user ?? '') }
  const exported = await recordChange(
    env,
    { kind: 'person.export', organization, project: projectId, details: { userId: person.userId } },
    () =>
      exportPerson({
        person,
        connection,
        services,
        token,
        env,
        write,
        onProgress: (read, whole, records) => progress.report(whole === 0 ? 1 : read / whole, records),
      }),
    ({ outcome }) => (outcome === 'unknown' ? { outcome: 'refused', reason: 'UNKNOWN_PERSON' } : { outcome: 'made' }),
  ).finally(progress.end)
  if (exported.outcome === 'unknown') {
    await requireProject(project, env, TOPICS.catalog)
    throw user === undefined ? unknownUserId(project, userId ?? '') : unknownPerson(project, user)
  }
  await complete()
  const seconds = ((performance.now() - startedAt) / 1_000).toFixed(1)
  complain(`Wrote ${formatCount(exported.lines)} lines in ${seconds} s.`)
  for (const { source, reason } of exported.missing) complain(`Incomplete: ${source}: ${reason}.`)
  if (exported.missing.length > 0)
    throw new CliError('The export is incomplete. Repeat it when the named sources can be read.')
}

function unknownPerson(project: ProjectRef, named: string): CliError {
  const place = projectName(project)
  return new CliError(
    `Nothing is known about ${named} in ${place}. Names must be exactly as given to identify-user. To search, look for a part of the ` +
      `name in all records: nextvisit export --project ${place} --out - | grep -i <part>`,
  )
}

function unknownUserId(project: ProjectRef, userId: string): CliError {
  return new CliError(
    `Nothing is known about ${userId} in ${projectName(project)}. A userId belongs to one project. To search, look for it in the records ` +
      `of all projects: nextvisit export --out - | grep ${userId}`,
  )
}
