/** Exit codes: 0 done, 1 refused or failed, 2 wrong arguments or an invalid file. */
export const EXIT = { done: 0, failed: 1, usage: 2 } as const

/** An error of ours: its message says what to do. */
export function isOurs(error: unknown): error is Error & { readonly code: string } {
  return error instanceof Error && 'code' in error && 'retryable' in error
}

/** How a command exits that this has ended. */
export function exitCodeOf(error: unknown): number {
  if (isOurs(error) && error.code === 'BAD_CONFIG') return EXIT.usage
  return error instanceof CliError ? error.exitCode : EXIT.failed
}

/** Ends a command with this message, which says what to do. */
export class CliError extends Error {
  override readonly name: string = 'CliError'
  readonly code: string = 'COMMAND_FAILED'
  readonly retryable = false
  readonly exitCode: number

  constructor(message: string, exitCode: number = EXIT.failed, options?: ErrorOptions) {
    super(message, options)
    this.exitCode = exitCode
  }
}
