import { isRetryable } from '@nextvisit/database'

interface Place {
  readonly projection: string
  readonly topic: string
  readonly partition: number
}

const nameOf = ({ projection, topic, partition }: Place): string => `${projection} on ${topic}/${partition}`

/** A batch begins behind the checkpoint: records between them were never seen. Somebody has to look. */
export class GapError extends Error {
  override readonly name = 'GapError'
  readonly code = 'GAP_IN_LOG'
  readonly retryable = false

  constructor(place: Place, nextOffset: bigint, fetchedFrom: bigint) {
    super(
      `${nameOf(place)}: a batch begins at ${fetchedFrom}, but ${nextOffset} was to come next. Nothing was folded; ` +
        `find out where the records between went before this partition goes on.`,
    )
  }
}

/** The checkpoint is not within the log: records were deleted before they were folded, or Kafka lost or restored a log. */
export class CheckpointOutsideLogError extends Error {
  override readonly name = 'CheckpointOutsideLogError'
  readonly code = 'CHECKPOINT_OUTSIDE_LOG'
  readonly retryable = false

  constructor(place: Place, nextOffset: bigint, log: { readonly low: bigint; readonly high: bigint }) {
    super(
      `${nameOf(place)}: the checkpoint is ${nextOffset}, but the log holds ${log.low} to ${log.high}. It is not reset in ` +
        `silence: restore the log or the database so that they fit; see docs/runbooks/restored.md.`,
    )
  }
}

/**
 * The record before the checkpoint is not the one that was folded: the log was made anew, or restored from before that
 * record, and has grown past the checkpoint since.
 */
export class CheckpointOfAnotherLogError extends Error {
  override readonly name = 'CheckpointOfAnotherLogError'
  readonly code = 'CHECKPOINT_OF_ANOTHER_LOG'
  readonly retryable = false

  constructor(place: Place, nextOffset: bigint, times: { readonly folded: string; readonly found: string }) {
    super(
      `${nameOf(place)}: the checkpoint is ${nextOffset}, and the record before it is of ${times.found}; the one that was ` +
        `folded was of ${times.folded}. This is another log: what it holds below ${nextOffset} was never folded. Nothing of ` +
        `it was; see docs/runbooks/restored.md.`,
    )
  }
}

/** Loading, folding or writing failed in a way that trying again can't mend: a bug. The partition stops. */
export class FoldFailedError extends Error {
  override readonly name = 'FoldFailedError'
  readonly code = 'FOLD_FAILED'
  readonly retryable = false

  constructor(place: Place, from: bigint, cause: unknown) {
    super(`${nameOf(place)}: folding from offset ${from} failed. This is a bug; nothing of it was written.`, { cause })
  }
}

/** The runner is stopping, so the batch under way was given up. It is folded by whoever owns the partition next. */
export class RunnerStoppedError extends Error {
  override readonly name = 'RunnerStoppedError'
  readonly code = 'RUNNER_STOPPED'
  readonly retryable = true

  constructor() {
    super('The projection runner is stopping.')
  }
}

/** Kafka does not say what a topic is like: how many partitions, how long they are. */
export class LogAwayError extends Error {
  override readonly name = 'LogAwayError'
  readonly code = 'LOG_AWAY'
  readonly retryable = true

  constructor(options: ErrorOptions) {
    super('Kafka does not answer; ask again later.', options)
  }
}

/** Whether the same work may succeed later. Our own errors say it themselves, whatever caused them. */
export function mayPass(error: unknown): boolean {
  if (error instanceof Error && 'retryable' in error && typeof error.retryable === 'boolean') return error.retryable
  return isRetryable(error)
}
