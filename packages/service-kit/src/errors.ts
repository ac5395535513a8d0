/** The environment is not a valid configuration. The message lists every wrong variable, and no value. */
export class ConfigError extends Error {
  override readonly name = 'ConfigError'
  readonly code = 'BAD_CONFIG'
  readonly retryable = false
}

/** The internal server could not listen on its port. */
export class ListenError extends Error {
  override readonly name = 'ListenError'
  readonly code = 'CANNOT_LISTEN'
  readonly retryable = false
}

/** An internal call got no valid answer. Whether the other service did the work is unknown. */
export class InternalCallError extends Error {
  override readonly name = 'InternalCallError'
  readonly code = 'INTERNAL_CALL_FAILED'
  readonly retryable = true
}
