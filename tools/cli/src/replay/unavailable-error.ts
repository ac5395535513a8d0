import { UserKeysUnreadableError } from '@nextvisit/consumer'
import { isTransientError } from '@nextvisit/database'
import { isLogUnavailable } from '@nextvisit/log'
import { CliError, EXIT, firstLine } from '../errors.ts'

const CODES = { Kafka: 'LOG_UNAVAILABLE', Postgres: 'DATABASE_UNAVAILABLE' } as const
type Part = keyof typeof CODES

/** Ends a replay because Kafka or Postgres was unavailable or busy. The same command resumes it. */
export class UnavailableError extends CliError {
  override readonly name = 'UnavailableError'
  override readonly code: (typeof CODES)[Part]
  override readonly retryable = true

  constructor(part: Part, cause: Error) {
    const message = `${part} was unavailable or busy (${firstLine(cause)}). Run the same command again: it resumes.`
    super(message, EXIT.failed, { cause })
    this.code = CODES[part]
  }
}

/** Returns the part that was unavailable or busy according to the error; undefined if another attempt would not help. */
export function unavailablePart(error: unknown): Part | undefined {
  // First, because an error of Kafka may have a cause like those of Postgres.
  if (isLogUnavailable(error) || error instanceof UserKeysUnreadableError) return 'Kafka'
  return isTransientError(error) ? 'Postgres' : undefined
}
