/** Thrown for an invalid environment. The message lists every invalid variable, and no value. */
export class ConfigError extends Error {
  override readonly name = 'ConfigError'
  readonly code = 'BAD_CONFIG'
  readonly retryable = false
}

/** Thrown if a server could not listen on its port. */
export class ListenError extends Error {
  override readonly name = 'ListenError'
  readonly code = 'CANNOT_LISTEN'
  readonly retryable = false
}

/** The cause of an `unavailable` call: it got no valid answer. The other service may have done the work. */
export class InternalCallError extends Error {
  override readonly name = 'InternalCallError'
  readonly code = 'INTERNAL_CALL_FAILED'
  readonly retryable = true
}
