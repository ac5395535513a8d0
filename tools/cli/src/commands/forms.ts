import { lookupsOf, readCatalog } from '@nextvisit/catalog'
import { Duration, durationMs, type OrganizationConfig, TOPICS } from '@nextvisit/contracts'
import { Command, InvalidArgumentError } from 'commander'
import { logConnection, readEnvironment } from '../environment/config.ts'
import { CliError, EXIT } from '../errors.ts'
import { findAmong, PROJECT_HELP, projectName, type ProjectName } from '../find-project.ts'
import { type DryRun, dryRunAsJson, printDryRun } from '../forms-dry-run/print-dry-run.ts'
import { readPast, type Topics } from '../forms-dry-run/read-past.ts'
import { type ComparedProject, createSimulation } from '../forms-dry-run/simulate-forms.ts'
import { createProgressLines, endedByLine, printLine } from '../output/json-lines.ts'
import { parseCount, parseInstant, parseProject } from '../options.ts'
import { print } from '../output/print.ts'
import { RECORD_TOPICS } from '../shown-records/fences.ts'
import { createProgress } from '../output/progress.ts'
import { readWorkspaceWithoutSecrets } from '../workspace/read-workspace.ts'

interface DryRunFlags {
  /** Start of the period, ms since the epoch; `to` is its end. */
  readonly from: number
  readonly to?: number
  readonly project?: ProjectName
  readonly maxRecords?: number
  readonly json?: true
  readonly jsonLines?: true
}

export function createCommand(): Command {
  return new Command('forms')
    .description('Test forms before you apply them.')
    .addHelpText('after', '\nExample:\n  nextvisit forms dry-run workspace.yaml --from 7d')
    .addCommand(dryRunCommand())
}

function dryRunCommand(): Command {
  return new Command('dry-run')
    .description(
      "Evaluate a workspace file's forms on the records in the log, and count the users for whom they would have been queued.",
    )
    .argument('<file>', 'the workspace file; - reads standard input')
    .requiredOption('--from <when>', 'evaluate records received since: 90m, 7d, or an instant', parsePast)
    .option('--to <when>', 'evaluate records received before; default: now', parsePast)
    .option('--project <project>', `only this project: ${PROJECT_HELP}`, parseProject)
    .option('--max-records <count>', 'read only about this many of the newest records of each topic', parseCount)
    .option('--json', 'for scripts')
    .option('--json-lines', 'for programs that show progress: JSON lines')
    .addHelpText(
      'after',
      `
Reads the whole log, because a user's state depends on all records. Evaluates the records since --from with the evaluator's
rules. The queue and the times at which forms were shown start in their state at --from. From then on, every visit shows
the form that it is offered. TODAY: the same for the currently applied forms. The command changes nothing: it publishes
and commits nothing, and uses no database. It reads no keys or signing secrets that the file names.
It opens sealed records and leaves out erased users. A user takes about 2 KB of memory: traits, counts and key.

USERS: users for whom the form would have been queued. QUEUED: how often it would have been queued. EVALUATED: how often one of its
triggers matched. DELIVERED: how often a visit showed it.
With --max-records, earlier activity is unknown. Conditions, counts and frequencies are then correct only for users whose records
were all read.
--json prints one object. --json-lines prints one per line: type progress (share, records, perSecond, secondsLeft), then outcome or error
(code, message, faults of the file with line, path and message).

Exits with 0 if done, 1 if the log is unavailable, 2 if the file or the arguments are invalid. Reads KAFKA_BROKERS and NEXTVISIT_SECRET_KEY.

Example:
  nextvisit forms dry-run workspace.yaml --from 7d
  nextvisit forms dry-run workspace.yaml --from 2026-11-01T00:00:00Z --to 12h --project acme/shop
  nextvisit forms dry-run workspace.yaml --from 90m --json | jq '.projects[].forms[] | {form, users: .proposed.users}'`,
    )
    .action((file: string, flags: DryRunFlags) => dryRunForms(file, flags))
}

/** Runs the command. Specs pass their own `topics`. */
export async function dryRunForms(
  file: string,
  flags: DryRunFlags,
  topics: Topics = { ...RECORD_TOPICS, catalog: TOPICS.catalog },
): Promise<void> {
  const { json = false, jsonLines = false } = flags
  await endedByLine(jsonLines, async () => {
    const found = await simulate(file, flags, topics)
    if (jsonLines) printLine({ type: 'outcome', ...dryRunAsJson(found) })
    else if (json) print(JSON.stringify(dryRunAsJson(found), null, 2))
    else printDryRun(found)
  })
}

async function simulate(file: string, flags: DryRunFlags, topics: Topics): Promise<DryRun> {
  const { from, to = Date.now(), jsonLines, maxRecords } = flags
  if (from >= to) throw new CliError('--from must be before --to.', EXIT.usage)
  const organizations = await readWorkspaceWithoutSecrets(file)
  const env = readEnvironment()
  const connection = logConnection(env)
  const { state } = await readCatalog(connection, topics.catalog)
  const projects = comparedProjects(organizations, lookupsOf(state).project, flags.project)
  const simulation = createSimulation(projects, { from, to })
  const progress = jsonLines ? createProgressLines() : createProgress()
  const read = await readPast({ connection, topics, env, simulation, maxRecords, progress })
  return { ...read, users: simulation.users(), period: { from, to }, projects: simulation.result() }
}

function comparedProjects(
  organizations: readonly OrganizationConfig[],
  today: ReturnType<typeof lookupsOf>['project'],
  only: ProjectName | undefined,
): readonly ComparedProject[] {
  const all = organizations.flatMap(({ id: organization, projects }) =>
    projects.map((proposed) => ({
      organization,
      project: proposed.id,
      proposed,
      today: today(organization, proposed.id)?.config,
    })),
  )
  const chosen = only ? findAmong(all, only) : undefined
  if (chosen) return [chosen]
  if (!only && all.length > 0) return all
  const known = all.map(projectName).join(', ') || 'no projects'
  throw new CliError(`The file has ${known}${only ? `, but not ${projectName(only)}` : ''}.`, EXIT.usage)
}

/** Parses an instant, or a duration before now such as `7d`, to ms since the epoch. */
function parsePast(text: string): number {
  if (Duration.safeParse(text).success) return Date.now() - durationMs(text)
  if (/^\d{4}-/.test(text)) return parseInstant(text)
  throw new InvalidArgumentError('It must be a duration such as 90m or 7d, or an instant such as 2026-01-31T09:30:00Z.')
}
