type MigrationErrorCode =
  | 'MIGRATION_EDITED'
  | 'MIGRATION_FAILED'
  | 'MIGRATION_INCOMPLETE'
  | 'MIGRATION_MISSING'
  | 'MIGRATION_UNKNOWN'

/** Thrown if a migration cannot be applied. Each runs in a transaction, so nothing of it was applied. */
export class MigrationError extends Error {
  override readonly name = 'MigrationError'
  readonly code: MigrationErrorCode
  readonly retryable = false

  constructor(code: MigrationErrorCode, message: string, options?: ErrorOptions) {
    super(message, options)
    this.code = code
  }
}

/** Thrown if Postgres sent nothing on a connection for longer than its own timeouts. The outcome of its work is unknown. */
export class SilentConnectionError extends Error {
  override readonly name = 'SilentConnectionError'
  readonly code = 'DATABASE_SILENT'
  readonly retryable = true

  constructor(silentMs: number) {
    super(`Postgres was silent for ${silentMs} ms on a connection, which was closed.`)
  }
}
