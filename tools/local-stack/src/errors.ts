export type StackErrorCode =
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

/** A part, or the whole stack, could not be started. The message tells the user what to do. */
export class StackError extends Error {
  override readonly name = 'StackError'
  readonly code: StackErrorCode
  /** Whether the same start may work a moment later without any change. */
  readonly retryable: boolean

  constructor(code: StackErrorCode, message: string, options: { retryable?: boolean; cause?: unknown } = {}) {
    super(message, { cause: options.cause })
    this.code = code
    this.retryable = options.retryable ?? false
  }
}
