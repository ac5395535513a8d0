/** The audit is impossible. The message says why and what to do. */
export class AuditError extends Error {
  override readonly name = 'AuditError'
  readonly code = 'AUDIT_IMPOSSIBLE'
  readonly retryable = false
}
