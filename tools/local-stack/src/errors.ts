type StackErrorCode =
  | 'ALREADY_RUNNING'
  | 'BROKEN_WORKSPACE'
  | 'DOWNLOAD_FAILED'
  | 'FOLDER_UNUSABLE'
  | 'INTERRUPTED'
  | 'INVALID_SETTING'
  | 'NOT_READY'
  | 'NO_SPACE'
  | 'PART_ENDED'
  | 'PORT_TAKEN'
  | 'REQUIREMENT_MISSING'
  | 'STEP_FAILED'

/** A failed start of a part or the whole stack. The message names the remedy. */
export class StackError extends Error {
  override readonly name = 'StackError'
  readonly code: StackErrorCode
  /** True if the same start may succeed a moment later without any change. */
  readonly retryable: boolean

  constructor(code: StackErrorCode, message: string, options: { retryable?: boolean; cause?: unknown } = {}) {
    super(message, { cause: options.cause })
    this.code = code
    this.retryable = options.retryable ?? false
  }
}
