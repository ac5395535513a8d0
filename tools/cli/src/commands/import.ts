import { access, constants, stat } from 'node:fs/promises'
import { lookupsOf, readCatalog } from '@nextvisit/catalog'
import { TOPICS } from '@nextvisit/contracts'
import type { ImportPolicy } from '@nextvisit/domain'
import { createLogAdmin, createPublisher, type LogConnection } from '@nextvisit/log'
import { consumers } from '@nextvisit/services'
import { Command, InvalidArgumentError } from 'commander'
import { logConnection, readEnvironment } from '../config.ts'
import { consumerNamed, openConsumerDatabase } from '../consumer-database.ts'
import { CliError, EXIT } from '../errors.ts'
import { fileError } from '../file-error.ts'
import { createAwaitRoom } from '../import/consumer-lag.ts'
import { createKnownUsers } from '../import/known-users.ts'
import { lockFile } from '../import/lock-file.ts'
import { readFirstRejects } from '../import/rejects.ts'
import { type ImportCounts, runImport } from '../import/run-import.ts'
import { parseProject, type ProjectOption } from '../options.ts'
import { complain, print } from '../output.ts'
import { count, createProgress } from '../progress.ts'

/** Consumers fold about so many records in a fraction of a second: no live answer waits longer for them. */
const DEFAULT_MAX_LAG = 1_000
const REQUEST_TIMEOUT_MS = 5_000
const REJECTS_SHOWN = 5

interface ImportFlags {
  readonly project: ProjectOption
  readonly maxLag: number
  readonly dryRun?: boolean
}

export function importCommand(): Command {
  return new Command('import')
    .summary('Bring history in, from NDJSON.')
    .description('Bring in history: identifies and events from a file of NDJSON.')
    .argument('<file>', 'one object a line, compressed if it ends in .gz')
    .requiredOption('--project <organization/project>', 'where to', parseProject)
    .option('--max-lag <records>', 'go on only while no consumer is further behind', parseRecords, DEFAULT_MAX_LAG)
    .option('--dry-run', 'check every line and publish nothing')
    .addHelpText(
      'after',
      `
A line is the body of an admin route with its type, and when it happened, however long ago:
  {"type":"identify","userName":"ada","userAttributes":{"$set":{"plan":"pro"}},"occurredAt":"2021-03-01T09:00:00Z"}
  {"type":"track","userName":"ada","eventName":"Signed Up","occurredAt":"2021-03-01T09:00:05Z"}
It fills in what is not known: it overwrites no trait, counts for no limit and sets off no form (docs/spec/decisions.md, Import).
A track's user must be identified by an earlier line or have been before. Two equal lines of a file are two events; lines
with an equal "id" are one. Equal lines of different files are one, too: when a history is cut into several files, give each
of its lines an "id" of its own.

Lines that are refused are in FILE.rejects.ndjson, each with its number and what is wrong (the first five are shown, too); repair those and import that as
a file of its own. How far it is stands in FILE.import-state.json: run the same again after a crash, and it goes on;
nothing is imported twice. FILE.import-lock keeps a second run of the same file away. Lines that were added at the end are imported by another run.
Ends with 0 done, 1 some lines were rejected or it failed, 2 called wrongly.

Example:
  nextvisit import history.ndjson.gz --project acme/shop --dry-run
  nextvisit import history.ndjson.gz --project acme/shop`,
    )
    .action(importFile)
}

async function importFile(file: string, { project, maxLag, dryRun = false }: ImportFlags): Promise<void> {
  await requireReadable(file)
  const env = readEnvironment()
  const connection = logConnection(env)
  const databases = new Map(consumers.map((consumer) => [consumer.name, openConsumerDatabase(env, consumer)]))
  const projector = openConsumerDatabase(env, consumerNamed('user-projector'))
  const admin = createLogAdmin(connection)
  const publisher = createPublisher(connection, { requestTimeoutMs: REQUEST_TIMEOUT_MS })
  const progress = createProgress()
  const release = await lockFile(file)
  try {
    await admin.connect()
    const policy = await readPolicy(connection, project)
    await publisher.start()
    const marks = await admin.watermarks(TOPICS.userEvents)
    const counts = await runImport({
      file,
      stateFile: `${file}.import-state.json`,
      rejectsFile: rejectsOf(file),
      policy,
      users: createKnownUsers(project, projector, admin),
      log: { connection, publisher, partitions: marks.size },
      ends: new Map([...marks].map(([partition, { high }]) => [partition, high])),
      awaitRoom: createAwaitRoom({ admin, databases, maxLag, onPause: progress.pause }),
      isDryRun: dryRun,
      onProgress: progress.report,
    })
    progress.end()
    await tell(counts, file, dryRun)
  } finally {
    progress.end()
    await Promise.allSettled([
      release(),
      publisher.stop(1_000),
      admin.disconnect(),
      projector.close(),
      ...[...databases.values()].map((database) => database.close()),
    ])
  }
}

async function requireReadable(file: string): Promise<void> {
  await access(file, constants.R_OK).catch((cause: unknown) => {
    throw fileError(file, 'read', cause)
  })
  if ((await stat(file)).isDirectory()) throw fileError(file, 'read', 'EISDIR')
}

async function tell(
  { read, published, alreadyThere, rejected }: ImportCounts,
  file: string,
  isDryRun: boolean,
): Promise<void> {
  const done = isDryRun ? 'to publish' : 'published'
  print(
    `${count(read)} read, ${count(published)} ${done}, ${count(alreadyThere)} already there, ${count(rejected)} rejected`,
  )
  if (rejected === 0) return
  for (const { line, error } of await readFirstRejects(rejectsOf(file), REJECTS_SHOWN))
    complain(`line ${line}: ${error}`)
  complain(`What is wrong with each rejected line is in ${rejectsOf(file)}.`)
  process.exitCode = EXIT.failed
}

function rejectsOf(file: string): string {
  return `${file}.rejects.ndjson`
}

async function readPolicy(connection: LogConnection, { organization, project }: ProjectOption): Promise<ImportPolicy> {
  const { state } = await readCatalog(connection, TOPICS.catalog)
  const policy = lookupsOf(state).project(organization, project)
  if (policy) return policy
  throw new CliError(`There is no project ${organization}/${project}: nextvisit apply makes one.`, EXIT.usage)
}

function parseRecords(text: string): number {
  const records = Number(text)
  if (!Number.isSafeInteger(records) || records < 0) throw new InvalidArgumentError('It must be a whole number.')
  return records
}
