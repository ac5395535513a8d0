import { existsSync } from 'node:fs'
import { access, constants, stat } from 'node:fs/promises'
import path from 'node:path'
import { askViews, type CatalogState, readCatalog } from '@nextvisit/catalog'
import { TOPICS, USER_PROJECTOR_GROUP } from '@nextvisit/contracts'
import { isTimezone, SKIP_REASONS } from '@nextvisit/domain'
import { createLogAdmin, createPublisher, type LogAdmin, readKeyPartitions } from '@nextvisit/log'
import { type KeyRing, SECRET_KEY_VARIABLE } from '@nextvisit/sealing'
import { userConsumers } from '@nextvisit/services'
import { createErasureView } from '@nextvisit/user-keys'
import { Command, InvalidArgumentError, Option } from 'commander'
import { recordChange } from '../changes/record-change.ts'
import { logConnection, readEnvironment } from '../environment/config.ts'
import { consumerNamed, openConsumerDatabase } from '../environment/consumer-database.ts'
import { requireCurrent } from '../erasures/require-current.ts'
import { CliError, EXIT } from '../errors.ts'
import { knownKeyRing, noKeyRing } from '../environment/key-ring.ts'
import { fileError } from '../file-error.ts'
import { findProject, PROJECT_HELP, type ProjectName } from '../find-project.ts'
import { createImportKeys } from '../import/import-keys.ts'
import { createImportPace } from '../import/import-pace.ts'
import { createKnownUsers } from '../import/known-users.ts'
import { LINE_FORMATS, type ExportSummary, type LineFormat, type Tally } from '../import/line-format.ts'
import { lockFile } from '../import/lock-file.ts'
import { rejectsFileOf } from '../import/rejects.ts'
import { type ImportCounts, runImport } from '../import/run-import.ts'
import { parseProject } from '../options.ts'
import { complain, print } from '../output/print.ts'
import { createProgress, formatCount } from '../output/progress.ts'

/** Default delay of a consumer above which an import pauses. Twice the pause between fetches, in which records gather. */
const DEFAULT_MAX_DELAY_S = 1
/** Maximum delay of a consumer whose replies callers wait for. */
const MAX_AWAITED_DELAY_MS = 100
const REQUEST_TIMEOUT_MS = 5_000

interface ImportFlags {
  readonly project: ProjectName
  readonly format: LineFormat
  readonly timeZone: string
  readonly maxDelay: number
  readonly dryRun?: boolean
}

export function createCommand(): Command {
  return new Command('import')
    .description("Import history: identifies and events from an NDJSON file, or another product's export.")
    .argument('<file>', 'one object per line, plain or gzip')
    .requiredOption('--project <project>', PROJECT_HELP, parseProject)
    .addOption(new Option('--format <format>', 'format of the lines').choices(LINE_FORMATS).default('nextvisit'))
    .option(
      '--time-zone <zone>',
      'of a Mixpanel project created before 2023, such as Europe/Berlin',
      parseTimeZone,
      'UTC',
    )
    .option(
      '--max-delay <seconds>',
      'pause while a consumer is further behind (the evaluator: at most 0.1)',
      parseSeconds,
      DEFAULT_MAX_DELAY_S,
    )
    .option('--dry-run', 'check every line and publish nothing')
    .addHelpText(
      'after',
      `
A line is the body of an admin route, its type, and the time of the event. Any age is accepted:
  {"type":"identify","userName":"ada","userAttributes":{"$set":{"plan":"pro"}},"occurredAt":"2021-03-01T09:00:00Z"}
  {"type":"track","userName":"ada","eventName":"Signed Up","occurredAt":"2021-03-01T09:00:05Z"}
Lines of nextvisit export are records: they have another format and are not accepted here.
--format reads files that Segment, Mixpanel, Amplitude and PostHog export: lines, or a JSON array
(docs/reference/import-formats.md). Users are created first, with their newest traits.
An import fills in unknown values: it overwrites no trait, meters no event and no active user, and triggers no form.
New names count toward their caps (docs/spec/decisions.md, Import).
Lines of suppressed users are rejected (nextvisit erase --suppress).
It seals names, traits and properties, and needs NEXTVISIT_SECRET_KEY with the value of the services. A line that was imported before its user
was erased is not imported again.
The user of a track line must be identified by an earlier line, or must exist already. Two equal lines of one file are two events;
lines with the same "id" are one. Equal lines of different files are also one: if you split a history into several files, give
each line its own "id".

Refused lines are written to FILE.rejects.ndjson, each with its number and error (the first five of this run are also shown). Fix them and
import them as a new file. A dry run writes to FILE.dry-run.rejects.ndjson, and leaves the files of an import as they are.
FILE.import-state.json contains the progress: after a crash run the same command again to continue; nothing is imported twice.
FILE.import-lock prevents a second run of the same file. If lines were appended, run the command again to import them.
Exits with 0 if done, 1 if lines were rejected or the import failed, 2 if the arguments are invalid.

Example:
  nextvisit import history.ndjson.gz --project acme/shop --dry-run
  nextvisit import history.ndjson.gz --project acme/shop
  nextvisit import events.json.gz --format amplitude --project acme/shop`,
    )
    .action(importFile)
}

async function importFile(file: string, flags: ImportFlags): Promise<void> {
  const { project: name, format, timeZone, maxDelay, dryRun = false } = flags
  await requireReadable(file)
  const env = readEnvironment()
  const keyRing = knownKeyRing(env)
  if (!keyRing && !dryRun) throw noKeyRing(env)
  const connection = logConnection(env)
  const databases = new Map(userConsumers.map((consumer) => [consumer.name, openConsumerDatabase(env, consumer)]))
  const projector = openConsumerDatabase(env, consumerNamed('user-projector'))
  const admin = createLogAdmin(connection)
  const erasures = createErasureView(connection)
  const publisher = createPublisher(connection, { requestTimeoutMs: REQUEST_TIMEOUT_MS })
  const progress = createProgress()
  const release = await lockFile(file)
  try {
    await admin.connect()
    const { state } = await readCatalog(connection, TOPICS.catalog)
    const project = findProject(state, name)
    if (keyRing) await requireSharedKey(admin, state, keyRing)
    const { organization, project: projectId } = project
    await publisher.start()
    await erasures.start()
    await requireCurrent(erasures)
    const marks = await admin.watermarks(TOPICS.userEvents)
    const partitions = await readKeyPartitions(admin, {
      topic: TOPICS.userEvents,
      expected: connection.partitions,
      foldedBy: USER_PROJECTOR_GROUP,
    })
    const log = { connection, publisher, partitions }
    const run = () =>
      runImport({
        file,
        format,
        timeZone,
        policy: project,
        users: createKnownUsers(project, projector, admin),
        isSuppressed: (userId) => erasures.isSuppressed({ organization, project: projectId, userId }),
        keys: keyRing && !dryRun ? createImportKeys({ project, keyRing, fences: erasures, projector, log }) : undefined,
        log,
        ends: new Map([...marks].map(([partition, { high }]) => [partition, high])),
        pace: createImportPace({ admin, databases, maxDelayMs: maxDelayOf(maxDelay * 1_000), onPause: progress.pause }),
        isDryRun: dryRun,
        onProgress: progress.report,
      })
    const wanted = { kind: 'history.import', organization, project: projectId, target: path.basename(file) } as const
    const counts = dryRun ? await run() : await recordChange(env, wanted, run)
    progress.end()
    printCounts(counts, file, dryRun)
  } finally {
    progress.end()
    await Promise.allSettled([
      release(),
      publisher.stop(1_000),
      erasures.stop(),
      admin.disconnect(),
      projector.close(),
      ...[...databases.values()].map((database) => database.close()),
    ])
  }
}

/** Throws if a running service lacks the key that would wrap new data keys: it could open no record of this import. */
async function requireSharedKey(admin: LogAdmin, state: CatalogState, { newestKeyId }: KeyRing): Promise<void> {
  const { secretKeyIds } = await askViews(admin, TOPICS.catalog, state)
  const lacking = [...secretKeyIds].flatMap(([view, keyIds]) => (keyIds.includes(newestKeyId) ? [] : view))
  if (lacking.length === 0) return
  throw new CliError(
    `${SECRET_KEY_VARIABLE} of ${lacking.join(', ')} lacks key ${newestKeyId}, the first one here: nobody could read the records ` +
      'of this import. Use the same value as the services: see docs/runbooks/rotate-secrets.md.',
    EXIT.usage,
  )
}

/** Returns the maximum delay of each consumer: shorter for those whose replies callers wait for. */
function maxDelayOf(maxDelayMs: number): (service: string) => number {
  const awaited = new Set<string>(userConsumers.flatMap(({ name, isAwaited }) => (isAwaited ? name : [])))
  return (service) => (awaited.has(service) ? Math.min(maxDelayMs, MAX_AWAITED_DELAY_MS) : maxDelayMs)
}

async function requireReadable(file: string): Promise<void> {
  await access(file, constants.R_OK).catch((cause: unknown) => {
    throw fileError(file, 'read', cause)
  })
  if ((await stat(file)).isDirectory()) throw fileError(file, 'read', 'EISDIR')
}

function printCounts(
  { read, published, alreadyThere, rejected, examples, summary }: ImportCounts,
  file: string,
  isDryRun: boolean,
): void {
  const done = isDryRun ? 'to publish' : 'published'
  print(
    `${formatCount(read)} read, ${formatCount(published)} ${done}, ${formatCount(alreadyThere)} already there, ${formatCount(rejected)} rejected`,
  )
  if (summary) printSummary(summary)
  if (rejected === 0) return
  for (const { line, error } of examples) complain(`line ${line}: ${error}`)
  const rejectsFile = rejectsFileOf(file, isDryRun)
  // The rejects of an earlier run may have been repaired and their file removed.
  if (existsSync(rejectsFile)) complain(`${rejectsFile} contains each rejected line with its error.`)
  process.exitCode = EXIT.failed
}

function printSummary({ users, aboutUsers, skipped, droppedTraits }: ExportSummary): void {
  print(`users in the file: ${formatCount(users)}; lines that tell only about a user: ${formatCount(aboutUsers)}`)
  for (const [reason, tally] of skipped) print(`skipped: ${inWords(tally)} ${SKIP_REASONS[reason]}`)
  if (droppedTraits.count > 0) print(`dropped: ${inWords(droppedTraits)} traits with values that no trait can hold`)
}

/** Formats `1,204 (first: line 3)`. */
function inWords({ count, firstLine }: Tally): string {
  return `${formatCount(count)} (first: line ${formatCount(firstLine)})`
}

function parseSeconds(text: string): number {
  const seconds = Number(text)
  if (text.trim() === '' || !Number.isFinite(seconds) || seconds < 0)
    throw new InvalidArgumentError('It must be a number of seconds, such as 0.5.')
  return seconds
}

function parseTimeZone(text: string): string {
  if (isTimezone(text)) return text
  throw new InvalidArgumentError('It must be the name of a time zone, such as Europe/Berlin.')
}
