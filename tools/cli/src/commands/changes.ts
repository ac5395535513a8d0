import { OPERATOR_CHANGE_KINDS, type OperatorChangeKind } from '@nextvisit/contracts'
import { isLogUnavailable, TopicMissingError } from '@nextvisit/log'
import { type ChangesPage, type ListedChange, readChanges } from '@nextvisit/operator-changes'
import { Command, Option } from 'commander'
import { logConnection, readEnvironment } from '../environment/config.ts'
import { CliError } from '../errors.ts'
import { parseCount, parseInstant, parseProject } from '../options.ts'
import { complain, escapeInvisible, print, printTable } from '../output/print.ts'
import type { ProjectName } from '../find-project.ts'

interface ListFlags {
  readonly kind?: OperatorChangeKind
  readonly actor?: string
  readonly project?: ProjectName
  readonly since?: number
  readonly limit: number
  readonly json?: true
}

export function createCommand(): Command {
  return new Command('changes')
    .description('Show the changes that operators asked for.')
    .addHelpText('after', '\nExample:\n  nextvisit changes list --kind workspace.apply --since 2026-11-01')
    .addCommand(
      new Command('list')
        .description('List changes, newest first: time, outcome, kind, place, and who asked for it.')
        .addOption(new Option('--kind <kind>', 'only of this kind').choices(OPERATOR_CHANGE_KINDS))
        .option('--actor <name>', 'only of people and keys whose name contains this')
        .option('--project <project>', 'only of this project, organization/project', parseProject)
        .option('--since <instant>', 'only requested at or after this day or instant', parseInstant)
        .option('--limit <count>', 'maximum number of changes', parseCount, 50)
        .option('--json', 'for scripts: one object per line, with the difference and all details')
        .addHelpText(
          'after',
          `
A change is in the topic operator-changes before it is made. begun: it is being made, or the process ended before it could tell.
(claimed): the name was not proved. The console names people whom an identity provider has signed in, and admin keys prove themselves;
commands take the name in NEXTVISIT_ACTOR, or the user of the operating system.
Reads KAFKA_BROKERS.
Exits with 0 with or without changes, 1 if Kafka does not answer, 2 if the arguments are invalid.

Example:
  nextvisit changes list --actor ada --since 2026-11-01
  nextvisit changes list --kind users.erase --json | jq '{at: .requestedAt, by: .actor.name, users: .details.users}'`,
        )
        .action((flags: ListFlags) => listChanges(flags)),
    )
}

/** Runs the command. Specs pass their own `topic`. */
export async function listChanges(
  { kind, actor, project: place, since, limit, json }: ListFlags,
  topic?: string,
): Promise<void> {
  const connection = logConnection(readEnvironment())
  const changes: ListedChange[] = []
  let before: string | null = null
  let unreadable = 0
  do {
    const page: ChangesPage = await readChanges(
      connection,
      {
        kind,
        actor,
        organization: place?.organization,
        project: place?.project,
        since: since === undefined ? undefined : new Date(since).toISOString(),
        limit: limit - changes.length,
        before: before ?? undefined,
      },
      topic,
    ).catch(explained)
    changes.push(...page.changes)
    unreadable += page.unreadable
    before = page.older
  } while (before !== null && changes.length < limit)
  if (json) for (const change of changes) print(JSON.stringify(change))
  else if (changes.length === 0) print('There is no such change.')
  else printTable(['REQUESTED', 'OUTCOME', 'KIND', 'WHERE', 'BY', 'DETAILS'], changes.map(rowOf))
  if (unreadable > 0)
    complain(`${unreadable} records are left out: a later version has written them, or they are damaged.`)
}

function explained(error: unknown): never {
  if (error instanceof TopicMissingError)
    throw new CliError('There is no topic operator-changes: create it with nextvisit topics create.')
  if (isLogUnavailable(error))
    throw new CliError('Kafka does not answer. See nextvisit status.', undefined, { cause: error })
  throw error
}

function rowOf({ requestedAt, outcome, reason, kind, actor, details, ...change }: ListedChange): readonly string[] {
  const { organization, project, target, lines, moreLines } = change
  const by = `${actor.name}${actor.isVerified ? '' : ' (claimed)'}${actor.via === undefined ? '' : `, ${actor.via}`}`
  const facts = Object.entries(details).map(([name, value]) => `${name}: ${value}`)
  const where = [organization, project, target].filter((part) => part !== null).join('/')
  const count = lines.length + moreLines
  const difference = count === 0 ? [] : [`${lines[0]}${count > 1 ? ` (and ${count - 1} more)` : ''}`]
  return [
    requestedAt,
    reason === null ? outcome : `${outcome} (${reason})`,
    kind,
    where || 'installation',
    by,
    [...facts, ...difference].join(', '),
  ].map(escapeInvisible)
}
