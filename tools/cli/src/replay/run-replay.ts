import { type CatalogView, lookupsOf, readCatalog } from '@nextvisit/catalog'
import type { Consumer } from '@nextvisit/consumer'
import { TOPICS } from '@nextvisit/contracts'
import { isTransientError } from '@nextvisit/database'
import type { LogConnection } from '@nextvisit/log'
import { CliError, EXIT, isOurs } from '../errors.ts'
import { isEqual } from './compare-tables.ts'
import { replayConsumer, type ReplayRequest } from './replay-consumer.ts'
import type { ReplayReport } from './replay-report.ts'

export interface RunReplayOptions {
  readonly consumer: Consumer
  readonly request: ReplayRequest
  /** Address for a role that may create schemas. */
  readonly adminUrl: string
  readonly connection: LogConnection
}

/** Replays a consumer and reports its progress. Resolves to true if it swapped or found both equal. */
export async function runReplay(options: RunReplayOptions, report: ReplayReport): Promise<boolean> {
  const { consumer, request, adminUrl, connection } = options
  try {
    const outcome = await replayConsumer(consumer, request, {
      adminUrl,
      connection,
      catalog: await readCatalogAsItIs(connection),
      onBegin: report.begin,
      onProgress: report.progress,
      onPause: (error) => report.pause(firstLine(error)),
      onStep: report.step,
      onCompared: report.comparison,
    })
    report.outcome(outcome)
    return outcome.outcome === 'swapped' || isEqual(outcome.comparisons)
  } catch (error) {
    if (!(error instanceof Error) || isOurs(error) || !isTransientError(error)) throw error
    const message = `Postgres was unavailable or busy (${firstLine(error)}). Run the same command again: it resumes.`
    throw new CliError(message, EXIT.failed, { cause: error })
  } finally {
    report.end()
  }
}

/** Reads the catalog that a rebuild uses: the one at its start. */
async function readCatalogAsItIs(connection: LogConnection): Promise<CatalogView> {
  const { state } = await readCatalog(connection, TOPICS.catalog)
  return { ...lookupsOf(state), onChange: () => {}, currentAsOfMs: () => Number.POSITIVE_INFINITY }
}

/** Returns the first line of a message. Prisma's messages begin with an empty line. */
function firstLine({ message }: Error): string {
  return message.trim().split('\n', 1)[0] ?? ''
}
