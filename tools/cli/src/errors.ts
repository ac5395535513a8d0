/** Exit codes: 0 done, 1 refused or failed, 2 wrong arguments or an invalid file. */
export const EXIT = { done: 0, failed: 1, usage: 2 } as const

/** Ends a command with this message, which says what to do. */
export class CliError extends Error {
  override readonly name = 'CliError'
  readonly code = 'COMMAND_FAILED'
  readonly retryable = false
  readonly exitCode: number

  constructor(message: string, exitCode: number = EXIT.failed, options?: ErrorOptions) {
    super(message, options)
    this.exitCode = exitCode
  }
}
