import { HEADERS } from '@nextvisit/contracts'
import type { FetchedBatch } from '@nextvisit/log'
import { RunnerStoppedError } from './errors.ts'
import type { OwnedPartition } from './owned-partition.ts'

/**
 * How long records gather that nobody waits for: a commit of twenty records costs twice as much as one of one. It is half
 * of what admission waits for a partition that is folded as usual, and the longest that a read waits which another process
 * than the partition's owner answers.
 */
export const GATHER_MS = 250

export interface GatheringOptions {
  /** Callers wait for what is done after the fold of a record that has `replyTo`. */
  readonly callersWait: boolean
  readonly gatherMs: number
  /** A batch failed after the next one was asked for, and not because its partition is lost: see {@link OwnedPartition}. */
  readonly onFailure: (error: Error) => void
}

/** Decides when a batch is folded, and when the next one is fetched. */
export interface Gathering {
  /** Resolves when the next batch of this partition may come. Rejects with what folding the batch rejects with. */
  readonly handle: (one: OwnedPartition, batch: FetchedBatch) => Promise<void>
  /** Somebody waits for what gathers: it is folded, or fetched, now. */
  readonly hurry: () => void
}

/**
 * Where no caller waits, a batch is folded at once and the next fetch comes some time later: records gather in the log, and
 * one fetch brings them all. Where callers wait, every record is fetched at once, since it may be one that a caller waits
 * for: such a record is folded at once, with everything that has gathered here until then. Behind the log's end nothing
 * gathers.
 */
export function createGathering({ callersWait, gatherMs, onFailure }: GatheringOptions): Gathering {
  let running: { readonly over: Promise<void>; readonly end: () => void } | undefined

  /** The end of the time that is running, or that begins now. */
  const untilGathered = (): Promise<void> => {
    if (running) return running.over
    const { promise: over, resolve } = Promise.withResolvers<void>()
    const timer = setTimeout(() => running?.end(), gatherMs)
    const end = (): void => {
      clearTimeout(timer)
      running = undefined
      resolve()
    }
    running = { over, end }
    return over
  }

  const hurry = (): void => running?.end()

  const foldThenGather: Gathering['handle'] = async (one, batch) => {
    const over = untilGathered()
    await one.handle(batch)
    if (isAtEnd(batch)) await over
  }

  const gatherThenFold: Gathering['handle'] = async (one, batch) => {
    if (isAtEnd(batch) && one.canGather() && !batch.records.some(hasCaller)) {
      one.handle(batch, untilGathered()).catch((error: unknown) => {
        if (!(error instanceof RunnerStoppedError)) onFailure(error instanceof Error ? error : new Error(String(error)))
      })
      return
    }
    const folded = one.handle(batch)
    hurry()
    await folded
  }

  return { handle: callersWait ? gatherThenFold : foldThenGather, hurry }
}

function isAtEnd({ nextOffset, highWatermark }: FetchedBatch): boolean {
  return nextOffset >= highWatermark
}

function hasCaller({ headers }: FetchedBatch['records'][number]): boolean {
  return headers[HEADERS.replyTo] !== undefined
}
