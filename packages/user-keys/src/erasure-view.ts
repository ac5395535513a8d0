import { setTimeout as sleep } from 'node:timers/promises'
import { decodeRecord, ErasureFact, TOPICS } from '@nextvisit/contracts'
import {
  createSleeper,
  type FetchedRecord,
  type LogConnection,
  type Logger,
  readLog,
  silentLogger,
} from '@nextvisit/log'
import { createErasureFold, type Erasures } from './fold-erasures.ts'

export interface ErasureView extends Erasures {
  /**
   * Returns when the view last contained everything up to the log's end, in ms of `performance.now()`. 0: never, so a user
   * may be suppressed although `isSuppressed` is false.
   */
  readonly currentAsOfMs: () => number
  /** Returns the number of records that the view passed because it cannot read them. */
  readonly skipped: () => number
  /** Resolves to true once the view has passed an offset, and to false after `withinMs`. */
  readonly passes: (offset: bigint, withinMs: number) => Promise<boolean>
}

export interface LiveErasureView extends ErasureView {
  /** Begins to follow the log, however long it is unavailable. Resolves at once. */
  readonly start: () => Promise<void>
  readonly stop: () => Promise<void>
}

interface ErasureViewOptions {
  /** Default: none. */
  readonly logger?: Logger
  /** Default: `erasures`. */
  readonly topic?: string
}

const TRY_AGAIN_AFTER_MS = 1_000
/** Maximum time in ms for which the broker holds a fetch. A record ends it at once. */
const MAX_WAIT_MS = 2_000
const CANNOT_FOLLOW = 'Cannot follow the erasures; retrying, and answering from memory'

/**
 * Creates a view that follows `erasures` from its first record and holds it in memory. A new record is in the view within
 * milliseconds. While the log is unavailable, the view answers from memory. It continues when the log is back.
 */
export function createErasureView(connection: LogConnection, options: ErasureViewOptions = {}): LiveErasureView {
  const { logger = silentLogger, topic = TOPICS.erasures } = options
  const { fold, ...erasures } = createErasureFold()
  const stopping = new AbortController()
  const { signal } = stopping
  const moved = createSleeper(signal)
  let running: Promise<void> = Promise.resolve()
  let position = 0n
  let currentAsOfMs = 0
  let skipped = 0

  const take = (record: FetchedRecord): void => {
    const read = readErasureRecord(record)
    if (read.outcome === 'ok') return fold(read.fact, record.offset)
    skipped += 1
    logger.error({ topic, offset: String(record.offset), reason: read.reason }, 'Skipped a record of erasures')
  }

  const followOnce = (): Promise<void> =>
    readLog(connection, {
      topic,
      from: new Map([[0, position]]),
      onBatch: ({ records, nextOffset }) => {
        records.forEach(take)
        position = nextOffset
        moved.wake()
      },
      onLevel: (asOfMs) => {
        currentAsOfMs = asOfMs
      },
      maxWaitMs: MAX_WAIT_MS,
      withStandIns: true,
      signal,
      logger,
    })

  const follow = async (): Promise<void> => {
    while (!signal.aborted) {
      await followOnce().catch((error: unknown) => logger.error({ err: error, topic }, CANNOT_FOLLOW))
      await sleep(TRY_AGAIN_AFTER_MS, undefined, { signal, ref: false }).catch(() => {})
    }
  }

  const passes = async (offset: bigint, withinMs: number): Promise<boolean> => {
    const giveUpAt = performance.now() + withinMs
    const hasPassed = () => position > offset
    while (!hasPassed() && performance.now() < giveUpAt && !signal.aborted)
      await moved.sleep(giveUpAt - performance.now())
    return hasPassed()
  }

  return {
    ...erasures,
    passes,
    currentAsOfMs: () => currentAsOfMs,
    skipped: () => skipped,
    start: async () => {
      running = follow()
    },
    stop: async () => {
      stopping.abort()
      await running
    },
  }
}

function readErasureRecord({ value, headers }: FetchedRecord) {
  return decodeRecord(ErasureFact, value, headers)
}
