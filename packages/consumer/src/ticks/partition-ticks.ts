import type { CatalogView } from '@nextvisit/catalog'
import type { Db } from '@nextvisit/database'
import type { LogAdmin, Logger } from '@nextvisit/log'
import { findRetries } from '../fold/dead-letter-rows.ts'
import { LogUnavailableError } from '../core/errors.ts'
import type { Partition } from '../fold/partition.ts'
import type { AnyFact, Projection } from '../core/projection.ts'
import { createRounds, type Rounds } from '../watch/rounds.ts'

interface PartitionTicksOptions<Fact extends AnyFact, Draft> {
  readonly projection: Projection<Fact, Draft>
  readonly db: Db
  readonly catalog: CatalogView
  readonly logAdmin: Pick<LogAdmin, 'watermarks'>
  readonly owned: () => readonly Partition[]
  readonly now: () => Date
  readonly logger: Logger
  readonly everyMs: number
  /** Called after every fifth round. */
  readonly onPoll: () => void
  /** Aborted when the runner stops. */
  readonly signal: AbortSignal
}

/**
 * Every fifth round also polls for retries, which only operators request, and for the log's end, which fetched batches have,
 * too.
 */
const ROUNDS_PER_POLL = 5

/** Ticks the due partitions of this process in rounds. Ticks may take longer than their round. */
export function createPartitionTicks<Fact extends AnyFact, Draft>(options: PartitionTicksOptions<Fact, Draft>): Rounds {
  const { projection, db, catalog, logAdmin, owned, now, logger, everyMs, onPoll, signal } = options
  const ticking = new Map<Partition, Promise<void>>()
  /** Topics whose end could not be read. */
  const endUnknown = new Set<string>()
  /** Topics that had retries at the last poll. A tick folds a part of them. */
  const retrying = new Set<string>()
  let round = 0

  async function runRound(): Promise<void> {
    round += 1
    const isPoll = round % ROUNDS_PER_POLL === 0
    const { topic } = projection
    await tickTopic(topic, isPoll).catch((error: unknown) => onRoundFailed(topic, error))
    if (isPoll) onPoll()
  }

  /** Takes the instant before it reads the log's end: every record in the log at the instant is folded first. */
  async function tickTopic(topic: string, isPoll: boolean): Promise<void> {
    const instant = now()
    const ofTopic = owned().filter((one) => one.topic === topic)
    const partitions = ofTopic.map(({ partition }) => partition)
    const withRetries = isPoll || retrying.has(topic) ? await findRetrying(topic, partitions) : []
    const due = new Set([...withRetries, ...(await findDue(partitions, instant))])
    const marks = due.size > 0 || isPoll || endUnknown.has(topic) ? await readEnds(topic) : undefined
    for (const one of ofTopic) {
      const end = marks?.get(one.partition)?.high
      if (end !== undefined) one.noticeEnd(end)
      if (!due.has(one.partition)) one.noticeTicks()
      else if (end !== undefined && !ticking.has(one)) beginTick(one, instant, end)
    }
  }

  /** After a failure the next round reads them again: an unknown end is reported after a minute. */
  async function readEnds(topic: string) {
    endUnknown.add(topic)
    const marks = await logAdmin.watermarks(topic).catch((cause: unknown) => {
      throw new LogUnavailableError({ cause })
    })
    endUnknown.delete(topic)
    return marks
  }

  /** Returns the partitions with work: few queries, however many partitions are owned. */
  async function findDue(partitions: readonly number[], instant: Date): Promise<readonly number[]> {
    if (!projection.ticks || partitions.length === 0) return []
    return projection.ticks.due(db, instant, { partitions, catalog })
  }

  async function findRetrying(topic: string, partitions: readonly number[]): Promise<readonly number[]> {
    const { name } = projection
    const found = partitions.length === 0 ? [] : await findRetries(db, { projection: name, topic }, partitions)
    if (found.length > 0) retrying.add(topic)
    else retrying.delete(topic)
    return found
  }

  /** The round does not await it: a stalled partition must not delay the ticks of the others. */
  function beginTick(one: Partition, instant: Date, end: bigint): void {
    ticking.set(
      one,
      one.tick(instant, end).finally(() => ticking.delete(one)),
    )
  }

  /** Without the due partitions, or the log's end, no partition of the topic can tick. */
  function onRoundFailed(topic: string, err: unknown): void {
    if (signal.aborted) return
    logger.warn({ err, topic }, 'Cannot read the due partitions or the end of the log; ticks wait')
    for (const one of owned()) if (one.topic === topic) one.noticeTicks(err)
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
