export type MigrationErrorCode =
  | 'MIGRATION_EDITED'
  | 'MIGRATION_FAILED'
  | 'MIGRATION_INCOMPLETE'
  | 'MIGRATION_MISSING'
  | 'MIGRATION_UNKNOWN'

/** A migration cannot be applied. Nothing of it was applied: each runs in a transaction. */
export class MigrationError extends Error {
  override readonly name = 'MigrationError'
  readonly code: MigrationErrorCode
  readonly retryable = false

  constructor(code: MigrationErrorCode, message: string, options?: ErrorOptions) {
    super(message, options)
    this.code = code
  }
}

/** A connection on which Postgres said nothing for longer than its own timeouts allow. What it was doing is unknown. */
export class SilentConnectionError extends Error {
  override readonly name = 'SilentConnectionError'
  readonly code = 'DATABASE_SILENT'
  readonly retryable = true

  constructor(silentMs: number) {
    super(`Postgres was silent for ${silentMs} ms on a connection, which was closed.`)
  }
}
