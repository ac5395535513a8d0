/** A migration that can't be applied. Nothing of it was applied: each runs in a transaction. */
export class MigrationError extends Error {
  override readonly name = 'MigrationError'
  readonly code: 'MIGRATION_EDITED' | 'MIGRATION_INCOMPLETE' | 'MIGRATION_FAILED' | 'MIGRATION_MISSING'
  readonly retryable = false

  constructor(code: MigrationError['code'], message: string, options?: ErrorOptions) {
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
