import type { CatalogView } from '@nextvisit/catalog'
import type { Db } from '@nextvisit/database'
import type { LogAdmin, Logger } from '@nextvisit/log'
import { LogUnavailableError } from '../core/errors.ts'
import type { AnyFact, Projection } from '../core/projection.ts'
import { findRetries } from '../dead-letters/dead-letter-rows.ts'
import type { Partition } from '../partition/partition.ts'
import { createRounds, type Rounds } from '../watch/rounds.ts'

interface TickRoundsOptions<Fact extends AnyFact, Draft> {
  readonly projection: Projection<Fact, Draft>
  readonly db: Db
  readonly catalog: CatalogView
  readonly logAdmin: Pick<LogAdmin, 'watermarks'>
  readonly owned: () => readonly Partition[]
  readonly now: () => Date
  readonly logger: Logger
  readonly everyMs: number
  /** Called in every fifth round: reads keys of users that were destroyed. */
  readonly pullKeys?: (partitions: readonly number[]) => Promise<void>
  /** Called after every fifth round. */
  readonly onPoll: () => void
  /** Aborted when the runner stops. */
  readonly signal: AbortSignal
}

/**
 * Every fifth round also polls for retries, which only operators request, for destroyed keys, and for the log's end, which fetched
 * batches have, too.
 */
const ROUNDS_PER_POLL = 5

/** Requests ticks of the due partitions of this process in rounds. Ticks may take longer than their round. */
export function createTickRounds<Fact extends AnyFact, Draft>(options: TickRoundsOptions<Fact, Draft>): Rounds {
  const { projection, db, catalog, logAdmin, owned, now, logger, everyMs, pullKeys, onPoll, signal } = options
  const { topic } = projection
  const ticking = new Map<Partition, Promise<void>>()
  /** The last attempt to read the log's end failed. */
  let isEndUnknown = false
  /** The last poll found retries. A tick folds a part of them. */
  let hasRetries = false
  /** The failure of the last attempt to read keys. */
  let keysFailure: { readonly error: unknown } | undefined
  let round = 0

  async function runRound(): Promise<void> {
    round += 1
    const isPoll = round % ROUNDS_PER_POLL === 0
    await tickDue(isPoll).catch(onRoundFailed)
    if (!isPoll) return
    await pollKeys()
    onPoll()
  }

  /** Without it, the key of an erased user who comes no more would stay in the table and in memory. */
  async function pollKeys(): Promise<void> {
    const partitions = owned().map(({ partition }) => partition)
    if (!pullKeys || partitions.length === 0) return
    try {
      await pullKeys(partitions)
      keysFailure = undefined
    } catch (error) {
      if (signal.aborted) return
      if (!keysFailure) logger.warn({ err: error }, 'Cannot read the keys of users; destroyed ones stay')
      keysFailure = { error }
      for (const partition of owned()) partition.noticeTickRound(error)
    }
  }

  /** Takes the instant before it reads the log's end: every record in the log at the instant is folded first. */
  async function tickDue(isPoll: boolean): Promise<void> {
    const instant = now()
    const partitions = owned()
    const numbers = partitions.map(({ partition }) => partition)
    const withRetries = isPoll || hasRetries ? await findPartitionsWithRetries(numbers) : []
    const due = new Set([...withRetries, ...(await findDue(numbers, instant))])
    const marks = due.size > 0 || isPoll || isEndUnknown ? await readMarks() : undefined
    for (const partition of partitions) {
      const end = marks?.get(partition.partition)?.high
      if (end !== undefined) partition.noticeEnd(end)
      if (!due.has(partition.partition)) partition.noticeTickRound(keysFailure?.error)
      else if (end !== undefined && !ticking.has(partition)) beginTick(partition, instant, end)
    }
  }

  /** After a failure the next round reads them again: an unknown end is reported after a minute. */
  async function readMarks() {
    isEndUnknown = true
    const marks = await logAdmin.watermarks(topic).catch((cause: unknown) => {
      throw new LogUnavailableError({ cause })
    })
    isEndUnknown = false
    return marks
  }

  /** Returns the partitions with work: few queries, however many partitions are owned. */
  async function findDue(partitions: readonly number[], instant: Date): Promise<readonly number[]> {
    if (!projection.ticks || partitions.length === 0) return []
    return projection.ticks.due(db, instant, { partitions, catalog })
  }

  async function findPartitionsWithRetries(partitions: readonly number[]): Promise<readonly number[]> {
    const found =
      partitions.length === 0 ? [] : await findRetries(db, { projection: projection.name, topic }, partitions)
    hasRetries = found.length > 0
    return found
  }

  /** The round does not await it: a stalled partition must not delay the ticks of the others. */
  function beginTick(partition: Partition, instant: Date, end: bigint): void {
    const tick = partition.requestTick(instant, end).finally(() => ticking.delete(partition))
    ticking.set(partition, tick)
  }

  /** Without the due partitions, or the log's end, no partition can tick. */
  function onRoundFailed(err: unknown): void {
    if (signal.aborted) return
    logger.warn({ err, topic }, 'Cannot read the due partitions or the end of the log; ticks wait')
    for (const partition of owned()) partition.noticeTickRound(err)
  }

  const rounds = createRounds(runRound, everyMs)
  return {
    ...rounds,
    finished: async () => {
      await rounds.finished()
      await Promise.all(ticking.values())
    },
  }
}
