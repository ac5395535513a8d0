import { type CatalogView, lookupsOf, readCatalog } from '@nextvisit/catalog'
import type { Consumer } from '@nextvisit/consumer'
import { TOPICS } from '@nextvisit/contracts'
import { isRetryable } from '@nextvisit/database'
import type { LogConnection } from '@nextvisit/log'
import { print } from '../output.ts'
import { isEqual } from './compare-tables.ts'
import { createProgress, type Progress } from './progress.ts'
import { replayConsumer, type ReplayRequest } from './replay-consumer.ts'
import type { ReplayStep } from './replay.ts'
import { reportComparisons, reportOutcome } from './report.ts'

const STEPS: Readonly<Record<ReplayStep, string>> = {
  compare: 'Comparing, row by row …',
  carry: 'Carrying over what is not in the log …',
  swap: 'Swapping …',
}

export interface RunReplayOptions {
  readonly consumer: Consumer
  readonly request: ReplayRequest
  /** Of a role that may create schemas. */
  readonly adminUrl: string
  readonly connection: LogConnection
}

/** Replays a consumer and prints how it goes. Resolves to whether it swapped or found both equal. */
export async function runReplay({ consumer, request, adminUrl, connection }: RunReplayOptions): Promise<boolean> {
  let progress: Progress | undefined
  const outcome = await replayConsumer(consumer, request, {
    adminUrl,
    connection,
    catalog: await readCatalogAsItIs(connection),
    onBegin: ({ resumedFrom, remaining }) => {
      print(`Rebuilding ${consumer.name} beside the live read models, which stay in use.`)
      if (resumedFrom)
        print(`Continuing the replay that was interrupted (started ${resumedFrom}). Use --restart to start over.`)
      progress = createProgress({ total: remaining, stream: process.stdout })
    },
    onProgress: (records) => progress?.add(records),
    onPause: (error) => print(`\nPostgres is unavailable or busy (${firstLine(error)}); trying again.`),
    onStep: (step) => {
      if (step === 'compare' && progress) print(progress.end())
      print(STEPS[step])
    },
  })
  for (const line of reportComparisons(outcome.comparisons, consumer.tables)) print(line)
  print(reportOutcome(outcome))
  return outcome.outcome === 'swapped' || isEqual(outcome.comparisons)
}

/** Why a replay failed. Our own errors say what to do; of others, the stack says where they came from. */
export function describeFailure(error: unknown): string {
  if (!(error instanceof Error)) return String(error)
  if ('code' in error && 'retryable' in error) return error.message
  if (isRetryable(error)) {
    return `Postgres was unavailable or busy (${firstLine(error)}). Run the same command again: it continues where it stopped.`
  }
  return error.stack ?? error.message
}

/** A rebuild uses the catalog of the moment at which it begins. */
async function readCatalogAsItIs(connection: LogConnection): Promise<CatalogView> {
  const { state } = await readCatalog(connection, TOPICS.catalog)
  return { ...lookupsOf(state), onChange: () => {}, currentAsOfMs: () => Number.POSITIVE_INFINITY }
}

/** Prisma's messages begin with an empty line. */
function firstLine({ message }: Error): string {
  return message.trim().split('\n', 1)[0] ?? ''
}
