/** The environment does not make a configuration. The message lists every variable that is wrong, and no value. */
export class ConfigError extends Error {
  override readonly name = 'ConfigError'
  readonly code = 'BAD_CONFIG'
  readonly retryable = false
}

/** The internal server could not take its port. */
export class ListenError extends Error {
  override readonly name = 'ListenError'
  readonly code = 'CANNOT_LISTEN'
  readonly retryable = false
}

/** An internal call was not answered as agreed. Whether the other service did what was asked is unknown. */
export class InternalCallError extends Error {
  override readonly name = 'InternalCallError'
  readonly code = 'INTERNAL_CALL_FAILED'
  readonly retryable = true
}
