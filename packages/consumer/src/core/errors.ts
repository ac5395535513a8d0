import { isTransientError, sqlStateOf } from '@nextvisit/database'
import { CodedError, UndecodableBatchError } from '@nextvisit/log'
import { messageOf } from '@nextvisit/service-kit'
import type { CheckpointKey } from './tables.ts'

function nameOf({ projection, topic, partition }: CheckpointKey): string {
  return `${projection} on ${topic}/${partition}`
}

/** A batch begins after the checkpoint: the records in between were never read. Needs an operator. */
export class GapError extends CodedError {
  readonly code = 'GAP_IN_LOG'
  readonly retryable = false

  constructor(key: CheckpointKey, nextOffset: bigint, fetchedFrom: bigint) {
    super(
      `${nameOf(key)}: a batch begins at ${fetchedFrom}, but ${nextOffset} was expected. Nothing was folded. ` +
        `Find the missing records before this partition continues.`,
    )
  }
}

/** The log does not hold the checkpoint: records were deleted before they were folded, or Kafka lost or restored a log. */
export class CheckpointOutsideLogError extends CodedError {
  readonly code = 'CHECKPOINT_OUTSIDE_LOG'
  readonly retryable = false

  constructor(key: CheckpointKey, nextOffset: bigint, log: { readonly low: bigint; readonly high: bigint }) {
    super(
      `${nameOf(key)}: the checkpoint is ${nextOffset}, but the log holds ${log.low} to ${log.high}. The consumer does ` +
        `not reset it. Restore the log or the database so that they fit: see docs/runbooks/restored.md.`,
    )
  }
}

/**
 * The record before the checkpoint is not the one that was folded. The topic was created again, or restored to a point
 * before that record, and has grown past the checkpoint since.
 */
export class CheckpointOfAnotherLogError extends CodedError {
  readonly code = 'CHECKPOINT_OF_ANOTHER_LOG'
  readonly retryable = false

  constructor(key: CheckpointKey, nextOffset: bigint, times: { readonly folded: string; readonly found: string }) {
    super(
      `${nameOf(key)}: the checkpoint is ${nextOffset}. The record before it has the time ${times.found}, but the folded ` +
        `one had ${times.folded}. This is another log: its records below ${nextOffset} were never folded. Nothing of ` +
        `this batch was folded. See docs/runbooks/restored.md.`,
    )
  }
}

/** A record, named for operators. */
interface RecordRef {
  readonly offset: bigint
  /** `ce_id`, if the record has one. */
  readonly id?: string | undefined
}

/** Loading, folding or writing failed, and another attempt cannot help: a bug, or an undecodable batch. The partition halts. */
export class FoldFailedError extends CodedError {
  readonly code = 'FOLD_FAILED'
  readonly retryable = false
  /** Present if the fold of a single record failed. */
  readonly record: RecordRef | undefined

  constructor(key: CheckpointKey, failed: bigint | RecordRef, cause: unknown) {
    const what =
      typeof failed === 'bigint'
        ? `from offset ${failed}`
        : `the record at offset ${failed.offset}${failed.id === undefined ? '' : ` (id ${failed.id})`}`
    const why =
      cause instanceof UndecodableBatchError
        ? cause.message
        : `folding ${what} failed. This is a bug. Nothing was written`
    super(`${nameOf(key)}: ${why}: see docs/runbooks/halted.md.`, { cause })
    this.record = typeof failed === 'bigint' ? undefined : failed
  }
}

/** The rows that records change are too long for one commit. The core halves the commit until they fit. */
export class BatchTooLargeError extends CodedError {
  readonly code = 'BATCH_TOO_LARGE'
  readonly retryable = false

  constructor(bytes: number, maxBytes: number) {
    super(`A batch would load ${bytes} bytes of rows; a commit may load ${maxBytes}. It is folded in parts.`)
  }
}

/** The process stops or loses the partition, so the batch was abandoned. The partition's next owner folds it. */
export class RunnerStoppedError extends CodedError {
  readonly code = 'RUNNER_STOPPED'
  readonly retryable = true

  constructor() {
    super('The projection runner is stopping.')
  }
}

/** Kafka does not return the number of partitions of a topic, or their ends. */
export class LogUnavailableError extends CodedError {
  readonly code = 'LOG_UNAVAILABLE'
  readonly retryable = true

  constructor(options: ErrorOptions) {
    super('Kafka does not answer; try again later.', options)
  }
}

/** Sealed records wait: keys of users cannot be read from Kafka now, or are still being read. */
export class UserKeysUnreadableError extends CodedError {
  readonly code = 'USER_KEYS_UNREADABLE'
  readonly retryable = true

  constructor(reason: string, options?: ErrorOptions) {
    super(`Sealed records wait for the topic of the users' keys: ${reason}`, options)
  }
}

/** Sealed records wait: their data key is wrapped by a key that NEXTVISIT_SECRET_KEY lacks. Needs an operator. */
export class SecretKeyMissingError extends CodedError {
  readonly code = 'SECRET_KEY_MISSING'
  readonly retryable = true

  constructor(secretKeyId: string) {
    super(
      `Sealed records wait: a data key is wrapped by the secret key ${secretKeyId}, which this process lacks. Add that key ` +
        `to NEXTVISIT_SECRET_KEY and restart the process: see docs/runbooks/rotate-secrets.md.`,
    )
  }
}

/** Returns true if the same work may succeed later. Our own errors state it themselves, whatever their cause. */
export function mayPass(error: unknown): boolean {
  if (error instanceof Error && 'retryable' in error && typeof error.retryable === 'boolean') return error.retryable
  return isTransientError(error)
}

const MAX_MESSAGE_CHARACTERS = 500

/** Returns an error's code and message for operators. */
export function causeOf(error: unknown): { readonly code: string; readonly message: string } {
  const cause = error instanceof FoldFailedError ? error.cause : error
  // A batch that cannot be decoded is no bug of the fold.
  return { code: codeOf(isUndecodable(error) ? cause : error), message: describeError(cause) }
}

/** Returns true if a batch of the log cannot be decoded. */
export function isUndecodable(error: unknown): boolean {
  return (error instanceof FoldFailedError ? error.cause : error) instanceof UndecodableBatchError
}

/** Our own errors carry their code. Prisma hides the code of Postgres behind its own. */
function codeOf(error: unknown): string {
  const own = error instanceof Error && 'code' in error ? String(error.code) : undefined
  const isOurs = error instanceof Error && 'retryable' in error
  return (isOurs ? own : (sqlStateOf(error) ?? own)) ?? 'ERROR'
}

/** Returns an error's name and message as text that Postgres can store, without values of callers. */
function describeError(error: unknown): string {
  const name = error instanceof Error ? `${error.name}: ` : ''
  return `${name}${messageOf(error)}`.replaceAll('\u0000', '').slice(0, MAX_MESSAGE_CHARACTERS).toWellFormed()
}

/** Returns the error, or a {@link FoldFailedError} with its place if another attempt cannot help. */
export function asFoldFailure(key: CheckpointKey, failed: bigint | RecordRef, error: unknown): unknown {
  return error instanceof FoldFailedError || mayPass(error) ? error : new FoldFailedError(key, failed, error)
}

/** Awaits work, and throws its error as {@link asFoldFailure} returns it. */
export async function orFoldFailed<T>(key: CheckpointKey, failed: bigint, work: Promise<T>): Promise<T> {
  try {
    return await work
  } catch (error) {
    throw asFoldFailure(key, failed, error)
  }
}

/**
 * Reads from the topic of the users' keys, and throws any error as {@link UserKeysUnreadableError}. Neither a failure of Kafka nor
 * another log halts a partition: its records are intact.
 */
export async function orKeysUnreadable<T>(read: () => T | Promise<T>): Promise<T> {
  try {
    return await read()
  } catch (cause) {
    if (cause instanceof UserKeysUnreadableError) throw cause
    throw new UserKeysUnreadableError(messageOf(cause), { cause })
  }
}
