import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { type CatalogView, lookupsOf, readCatalog } from '@nextvisit/catalog'
import { TOPICS } from '@nextvisit/contracts'
import { isRetryable, type ServiceDatabase, serviceDatabases, serviceMigrations } from '@nextvisit/database'
import { type LogConnection, readWatermarks } from '@nextvisit/log'
import { configOrExit } from '@nextvisit/service-kit'
import type { Projection } from '../projection.ts'
import { readReplayConfig } from './config.ts'
import { createProgress, type Progress } from './progress.ts'
import { type ReplayedService, type ReplayRequest, replayService } from './replay-service.ts'
import { reportComparisons, reportOutcome } from './report.ts'

const CORE_MIGRATIONS = fileURLToPath(new URL('../../prisma/migrations', import.meta.url))
const SERVICES = path.resolve(import.meta.dirname, '../../../../services')
const EXIT = { done: 0, different: 1 } as const

/** What a service's `replay.ts` gives: the parts that its `main.ts` folds with. */
export interface RunReplayOptions<Fact, Draft, OwnFact, OwnDraft>
  extends Omit<ReplayedService<Fact, Draft, OwnFact, OwnDraft>, 'database' | 'published'> {
  readonly service: ServiceDatabase['service']
  /** See {@link ReplayedService}; given how many partitions `user-events` has. */
  readonly published?: (partitions: number) => Projection<OwnFact, OwnDraft>
}

/** The process behind `nextvisit replay`: tells how it goes, and ends with 0, or with 1 where rows differ or it failed. */
export async function runReplay<Fact, Draft, OwnFact = never, OwnDraft = never>(
  options: RunReplayOptions<Fact, Draft, OwnFact, OwnDraft>,
): Promise<void> {
  const config = configOrExit(readReplayConfig)
  const connection = { ...config.kafka, clientId: `nextvisit-replay-${options.service}` }
  try {
    const isFine = await run(options, config.databaseUrl, connection)
    process.exitCode = isFine ? EXIT.done : EXIT.different
  } catch (error) {
    process.stderr.write(`\n${describe(error)}\n`)
    process.exitCode = EXIT.different
  }
}

async function run<Fact, Draft, OwnFact, OwnDraft>(
  { service, published, ...parts }: RunReplayOptions<Fact, Draft, OwnFact, OwnDraft>,
  adminUrl: string,
  connection: LogConnection,
): Promise<boolean> {
  const database = serviceDatabases.find((one) => one.service === service)
  if (!database) throw new Error(`There is no database of ${service}`)
  const partitions = published ? (await readWatermarks(connection, TOPICS.userEvents)).size : 0
  let progress: Progress | undefined
  const outcome = await replayService({ ...parts, database, published: published?.(partitions) }, readRequest(), {
    adminUrl,
    connection,
    catalog: await readCatalogAsItIs(connection),
    migrations: serviceMigrations(service, CORE_MIGRATIONS, SERVICES),
    onBegin: ({ resumedFrom, remaining }) => {
      say(`Rebuilding ${service} beside the live read models, which go on serving.`)
      if (resumedFrom)
        say(`Going on with what an interrupted replay of ${resumedFrom} has rebuilt; --restart begins anew.`)
      progress = createProgress({ total: remaining, stream: process.stdout })
    },
    onProgress: (records) => progress?.add(records),
    onPause: (error) => say(`\nPostgres is away or busy (${firstLine(error)}); trying again.`),
    onStep: (step) => {
      if (step === 'compare' && progress) say(progress.end())
      say(step === 'compare' ? 'Comparing, row by row …' : 'Swapping …')
    },
  })
  for (const line of reportComparisons(outcome.comparisons, parts.roles)) say(line)
  say(reportOutcome(outcome))
  return (
    outcome.comparisons.every(({ onlyLive, onlyRebuilt }) => onlyLive + onlyRebuilt === 0) ||
    outcome.outcome === 'swapped'
  )
}

function readRequest(): ReplayRequest {
  const flag = { type: 'boolean', default: false } as const
  const { values } = parseArgs({ options: { 'dry-run': flag, 'accept-differences': flag, restart: flag } })
  return {
    isDryRun: values['dry-run'],
    acceptsDifferences: values['accept-differences'],
    restart: values.restart,
  }
}

/** A rebuild is one for the catalog as it is when it begins. */
async function readCatalogAsItIs(connection: LogConnection): Promise<CatalogView> {
  const { state } = await readCatalog(connection, TOPICS.catalog)
  return { ...lookupsOf(state), onChange: () => {}, currentAsOfMs: () => Number.POSITIVE_INFINITY }
}

function say(line: string): void {
  process.stdout.write(`${line}\n`)
}

/** Errors of ours say what to do; of others one wants to know where they came from. */
function describe(error: unknown): string {
  if (!(error instanceof Error)) return String(error)
  if ('code' in error && 'retryable' in error) return error.message
  if (isRetryable(error)) {
    return `Postgres was away or busy (${firstLine(error)}). Run the same command again: it goes on where it stopped.`
  }
  return error.stack ?? error.message
}

/** Prisma's messages begin with an empty one. */
function firstLine({ message }: Error): string {
  return message.trim().split('\n', 1)[0] ?? ''
}
