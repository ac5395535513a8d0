import { isRetryable } from '@nextvisit/database'
import type { CheckpointKey } from './fold/checkpoint.ts'

/** What this package throws. `retryable`: the same call may succeed later. */
abstract class ProjectionError extends Error {
  abstract readonly code: string
  abstract readonly retryable: boolean
  override get name(): string {
    return this.constructor.name
  }
}

const nameOf = ({ projection, topic, partition }: CheckpointKey): string => `${projection} on ${topic}/${partition}`

/** A batch begins after the checkpoint: the records between them were never seen. An operator has to look. */
export class GapError extends ProjectionError {
  readonly code = 'GAP_IN_LOG'
  readonly retryable = false

  constructor(key: CheckpointKey, nextOffset: bigint, fetchedFrom: bigint) {
    super(
      `${nameOf(key)}: a batch begins at ${fetchedFrom}, but ${nextOffset} was to come next. Nothing was folded. ` +
        `Find out where the records between went before this partition goes on.`,
    )
  }
}

/** The log does not hold the checkpoint: records were deleted before they were folded, or Kafka lost or restored a log. */
export class CheckpointOutsideLogError extends ProjectionError {
  readonly code = 'CHECKPOINT_OUTSIDE_LOG'
  readonly retryable = false

  constructor(key: CheckpointKey, nextOffset: bigint, log: { readonly low: bigint; readonly high: bigint }) {
    super(
      `${nameOf(key)}: the checkpoint is ${nextOffset}, but the log holds ${log.low} to ${log.high}. It is not reset ` +
        `silently. Restore the log or the database so that they fit: see docs/runbooks/restored.md.`,
    )
  }
}

/**
 * The record before the checkpoint is not the one that was folded. The topic was created again, or restored to a point
 * before that record, and has grown past the checkpoint since.
 */
export class CheckpointOfAnotherLogError extends ProjectionError {
  readonly code = 'CHECKPOINT_OF_ANOTHER_LOG'
  readonly retryable = false

  constructor(key: CheckpointKey, nextOffset: bigint, times: { readonly folded: string; readonly found: string }) {
    super(
      `${nameOf(key)}: the checkpoint is ${nextOffset}, and the record before it has the time ${times.found}; the one that ` +
        `was folded had ${times.folded}. This is another log: its records below ${nextOffset} were never folded. Nothing ` +
        `of this batch was folded. See docs/runbooks/restored.md.`,
    )
  }
}

/** A record that an error is about. */
export interface FailedRecord {
  readonly offset: bigint
  /** Its `ce_id`, if it has one. */
  readonly id?: string | undefined
}

/** Loading, folding or writing failed in a way that another attempt cannot fix: a bug. The partition halts. */
export class FoldFailedError extends ProjectionError {
  readonly code = 'FOLD_FAILED'
  readonly retryable = false
  /** Given where it is known which record it is. */
  readonly record: FailedRecord | undefined

  constructor(key: CheckpointKey, failed: bigint | FailedRecord, cause: unknown) {
    const what =
      typeof failed === 'bigint'
        ? `from offset ${failed}`
        : `the record at offset ${failed.offset}${failed.id === undefined ? '' : ` (id ${failed.id})`}`
    super(`${nameOf(key)}: folding ${what} failed. This is a bug. Nothing was written: see docs/runbooks/halted.md.`, {
      cause,
    })
    this.record = typeof failed === 'bigint' ? undefined : failed
  }
}

/** The rows that records change are too long for one commit. The commit is halved until they are not. */
export class BatchTooLargeError extends ProjectionError {
  readonly code = 'BATCH_TOO_LARGE'
  readonly retryable = false

  constructor(bytes: number, maxBytes: number) {
    super(`A batch would load ${bytes} bytes of rows; a commit may load ${maxBytes}. It is folded in parts.`)
  }
}

/** The runner is stopping, so the current batch was abandoned. The partition's next owner folds it. */
export class RunnerStoppedError extends ProjectionError {
  readonly code = 'RUNNER_STOPPED'
  readonly retryable = true

  constructor() {
    super('The projection runner is stopping.')
  }
}

/** Kafka does not answer how many partitions a topic has, or how long they are. */
export class LogUnavailableError extends ProjectionError {
  readonly code = 'LOG_UNAVAILABLE'
  readonly retryable = true

  constructor(options: ErrorOptions) {
    super('Kafka does not answer; try again later.', options)
  }
}

/** Whether the same work may succeed later. Our own errors state it themselves, whatever caused them. */
export function mayPass(error: unknown): boolean {
  if (error instanceof Error && 'retryable' in error && typeof error.retryable === 'boolean') return error.retryable
  return isRetryable(error)
}

/** The error, or the {@link FoldFailedError} that says where it happened, if another attempt cannot fix it. */
export function asFoldFailure(key: CheckpointKey, failed: bigint | FailedRecord, error: unknown): unknown {
  return error instanceof FoldFailedError || mayPass(error) ? error : new FoldFailedError(key, failed, error)
}

/** The work's result; see {@link asFoldFailure} for what it throws. */
export async function orFoldFailed<T>(key: CheckpointKey, failed: bigint, work: Promise<T>): Promise<T> {
  try {
    return await work
  } catch (error) {
    throw asFoldFailure(key, failed, error)
  }
}
