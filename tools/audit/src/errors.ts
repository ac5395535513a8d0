/** An impossible audit. The message names the reason and the remedy. */
export class AuditError extends Error {
  override readonly name = 'AuditError'
  readonly code = 'AUDIT_IMPOSSIBLE'
  readonly retryable = false
}
