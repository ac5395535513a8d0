import { randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { TOPICS } from '@nextvisit/contracts'
import {
  createGroupReader,
  type FetchedBatch,
  type FetchedRecord,
  type LogAdmin,
  type LogConnection,
  type Logger,
  UndecodableBatchError,
  withLogAdmin,
} from '@nextvisit/log'
import type { CatalogProblem, CatalogView } from './catalog-view.ts'
import { CatalogUnreadableError, CatalogViewStoppedError } from './errors.ts'
import { emptyCatalog, foldCatalog, foldUndecodable, lookupsOf } from './fold-catalog.ts'
import { isFormContent, readCatalogRecord, undecodableBatchIn } from './read-catalog-record.ts'
import { viewGroup, viewReportNote } from './view-report.ts'

interface CatalogViewOptions {
  /** Names this process for `nextvisit apply`, which waits for it. */
  readonly serviceName: string
  readonly logger: Logger
  /** Ids of the keys in this process's NEXTVISIT_SECRET_KEY, for `nextvisit apply` and `status`. */
  readonly secretKeyIds?: readonly string[]
  /** Holds the contents of forms (`formContent`). Default: false. */
  readonly withFormContents?: boolean
  /** Interval in ms between two reads of the log's end. Default: 10,000. */
  readonly currentEveryMs?: number
  /** Default: `catalog`. */
  readonly topic?: string
}

export interface LiveCatalogView extends CatalogView {
  /**
   * Resolves once everything up to the log's end has been read, however long the log is unavailable. Rejects with
   * CatalogUnreadableError if the log has records, but the view cannot read one organization.
   */
  readonly start: () => Promise<void>
  readonly stop: () => Promise<void>
  /** Returns whether the view was current at most `ms` ago (decisions.md, Keys). */
  readonly isCurrentWithin: (ms: number) => boolean
}

const TRY_AGAIN_AFTER_MS = 1_000
/** Pause after a batch that ends the reading. Another replica may have a sound copy. */
const TRY_DAMAGED_AGAIN_AFTER_MS = 10_000
/** Short enough that after two lost answers the view can still be confirmed as current within 30 s (decisions.md, Keys). */
const READ_END_WITHIN_MS = 5_000
const REMOVE_GROUP_WITHIN_MS = 1_000
const PASSED =
  'A batch of the catalog cannot be decoded. The catalog before it stays in force. Apply every organization again: see docs/runbooks/halted.md'
const SKIPPED = 'Skipped a catalog record that names no organization'
const SKIPPED_CONTENT = 'Skipped the content of a form, which this process does not understand'
const CANNOT_FOLLOW = 'Cannot follow the catalog; retrying, and answering from memory'
const DAMAGED =
  'A batch of the catalog is damaged, and reading cannot continue after it. The catalog before it stays in force. Restore the topic: see docs/runbooks/halted.md'
/**
 * Time for which the group waits for this view's previous member after a broker was killed, and `apply` for a killed
 * process. The smallest value that a broker accepts by default.
 */
const SESSION_TIMEOUT_MS = 6_000

/**
 * Creates a view that follows the catalog topic from its first record and holds it in memory. While the log is unavailable,
 * the view answers from memory. It continues when the log is back. It passes an undecodable batch: the catalog before it
 * stays in force, with a problem for each organization, so that the next `apply` still takes effect.
 */
export function createCatalogView(connection: LogConnection, options: CatalogViewOptions): LiveCatalogView {
  const { serviceName, logger, secretKeyIds, withFormContents = false } = options
  const { currentEveryMs = 10_000, topic = TOPICS.catalog } = options
  const groupId = viewGroup(topic, serviceName, randomUUID())
  const state = emptyCatalog({ withFormContents })
  const lookups = lookupsOf(state)
  const listeners: ((organization: string) => void)[] = []
  const stopping = new AbortController()
  let running: Promise<unknown> = Promise.resolve()

  const complain = (problem: CatalogProblem): void => {
    logger.error({ topic, ...problem }, 'This process does not understand all of a catalog record')
  }
  const progress = createProgress({
    obstacle: () => {
      const [damage] = state.organizations.size === 0 ? state.undecodable : []
      return damage && new CatalogUnreadableError(damage.error, 'apply')
    },
    onFirstCurrent: () => lookups.problems().forEach(complain),
  })

  const onBatch = async ({ records, nextOffset }: FetchedBatch): Promise<void> => {
    for (const fetched of records) {
      const lastOffset = fetched.undecodable?.lastOffset ?? fetched.offset
      if (lastOffset >= progress.position()) takeRecord(fetched)
    }
    progress.advance(nextOffset)
  }

  const takeRecord = (fetched: FetchedRecord): void => {
    const undecodable = undecodableBatchIn(fetched)
    if (undecodable) {
      foldUndecodable(state, undecodable)
      // Not while the view reads the history of the catalog at its start: the organizations may have been applied since.
      const level = progress.currentAsOfMs() > 0 ? 'error' : 'warn'
      logger[level]({ topic, err: undecodable.error }, PASSED)
      return
    }
    if (!withFormContents && isFormContent(fetched)) return
    const record = readCatalogRecord(fetched)
    if (record.outcome === 'skipped') {
      const context = { topic, offset: String(fetched.offset), reason: record.reason }
      logger.error(context, isFormContent(fetched) ? SKIPPED_CONTENT : SKIPPED)
    }
    if (!foldCatalog(state, record) || !('organization' in record)) return
    // Not while the view reads the history of the catalog at its start.
    if (progress.currentAsOfMs() > 0) announce(record)
    for (const listener of listeners) listener(record.organization)
  }

  const announce = ({ organization, revision }: { organization: string; revision: number | undefined }): void => {
    logger.info({ organization, revision }, 'New catalog revision')
    lookups
      .problems()
      .filter((problem) => problem.organization === organization)
      .forEach(complain)
  }

  /** Runs one reader until the view stops. Rejects if the reader cannot start or crashes. */
  const followOnce = async (): Promise<void> => {
    const ended = Promise.withResolvers<void>()
    const reader = createGroupReader(
      connection,
      {
        groupId,
        topics: [topic],
        sessionTimeoutMs: SESSION_TIMEOUT_MS,
        rebalanceTimeoutMs: SESSION_TIMEOUT_MS,
        withStandIns: true,
        commitNote: () => viewReportNote(state, secretKeyIds),
        logger,
      },
      {
        // One record back: with a record to read, the reader commits this view's report again.
        positions: async () => new Map([[0, progress.position() > 0n ? progress.position() - 1n : 0n]]),
        onBatch,
        onCrash: ended.reject,
      },
    )
    const onStop = (): void => ended.resolve()
    stopping.signal.addEventListener('abort', onStop)
    try {
      await Promise.race([reader.start(), ended.promise])
      await ended.promise
    } finally {
      stopping.signal.removeEventListener('abort', onStop)
      await reader.stop()
    }
  }

  const follow = async (): Promise<void> => {
    while (!stopping.signal.aborted) {
      const failure: unknown = await followOnce().catch((error: unknown) => error)
      const isDamaged = failure instanceof UndecodableBatchError
      if (isDamaged) progress.refuse(new CatalogUnreadableError(failure, 'restore'))
      if (failure !== undefined) logger.error({ err: failure, topic }, isDamaged ? DAMAGED : CANNOT_FOLLOW)
      await pause(isDamaged ? TRY_DAMAGED_AGAIN_AFTER_MS : TRY_AGAIN_AFTER_MS)
    }
  }

  /** Keeps its connection. Opening one each time would be most of an idle process's cost. */
  const watchEnd = async (): Promise<void> => {
    while (!stopping.signal.aborted) {
      await withLogAdmin(connection, readEnds, { requestTimeoutMs: READ_END_WITHIN_MS }).catch((error: unknown) => {
        logger.warn({ err: error, topic }, "Cannot read the catalog's end; retrying")
      })
      await pause(TRY_AGAIN_AFTER_MS)
    }
  }

  const readEnds = async (log: LogAdmin): Promise<void> => {
    while (!stopping.signal.aborted) {
      await readEnd(log)
      await pause(currentEveryMs)
    }
  }

  const readEnd = async (log: LogAdmin): Promise<void> => {
    const [positionBefore, atMs] = [progress.position(), performance.now()]
    const end = (await log.watermarks(topic)).get(0)?.high
    if (end === undefined) return
    if (end >= positionBefore) return progress.noteEnd(end, atMs)
    // The view may hold a log that was deleted, so it is not confirmed as current.
    logger.error(
      { topic },
      'The catalog topic is shorter than the part that was read. If the topic was replaced, restart this service',
    )
  }

  /** Removes the groups of killed processes, which Kafka would keep for a week. */
  const removeOldGroups = async (): Promise<void> => {
    const prefix = viewGroup(topic, serviceName, '')
    await withLogAdmin(connection, async (admin) => admin.deleteEmptyGroups(await admin.listGroups(prefix)))
  }

  const removeOwnGroup = (): Promise<void> => withLogAdmin(connection, (admin) => admin.deleteEmptyGroups([groupId]))

  const pause = (ms: number): Promise<void> =>
    sleep(ms, undefined, { signal: stopping.signal, ref: false }).catch(() => {})

  return {
    ...lookups,
    onChange: (listener) => listeners.push(listener),
    currentAsOfMs: progress.currentAsOfMs,
    isCurrentWithin: (ms) => performance.now() - progress.currentAsOfMs() <= ms,
    start: () => {
      running = Promise.all([follow(), watchEnd(), removeOldGroups().catch(() => {})])
      return progress.firstCurrent
    },
    stop: async () => {
      stopping.abort()
      progress.abandon()
      await running
      // Stopping does not wait for a Kafka that is down.
      await Promise.race([removeOwnGroup().catch(() => {}), sleep(REMOVE_GROUP_WITHIN_MS, undefined, { ref: false })])
    },
  }
}

/**
 * Tracks the position of a view. The log's end is noted with its instant; once the position has reached it, the view is
 * current as of that instant.
 */
function createProgress({
  obstacle,
  onFirstCurrent,
}: {
  /** Returns the reason why a view that has read everything has no catalog. */
  readonly obstacle: () => Error | undefined
  readonly onFirstCurrent: () => void
}) {
  const firstCurrent = Promise.withResolvers<void>()
  /** The offset after the last record that was read. */
  let position = 0n
  let noted = { end: 0n, atMs: 0 }
  let currentAsOfMs = 0

  const refuse = (error: Error): void => firstCurrent.reject(error)

  const confirm = (): void => {
    if (noted.atMs === 0 || position < noted.end) return
    if (currentAsOfMs === 0) {
      const refusal = obstacle()
      if (refusal) return refuse(refusal)
      onFirstCurrent()
    }
    currentAsOfMs = noted.atMs
    firstCurrent.resolve()
  }

  return {
    position: () => position,
    currentAsOfMs: () => currentAsOfMs,
    firstCurrent: firstCurrent.promise,
    advance: (nextOffset: bigint): void => {
      if (nextOffset > position) position = nextOffset
      confirm()
    },
    noteEnd: (end: bigint, atMs: number): void => {
      noted = { end, atMs }
      confirm()
    },
    /** Rejects `firstCurrent` with the error, unless it was reached. */
    refuse,
    /** Rejects `firstCurrent`, unless it was reached. */
    abandon: (): void => {
      firstCurrent.reject(new CatalogViewStoppedError())
      firstCurrent.promise.catch(() => {})
    },
  }
}
