import type { WorkspaceFault } from '@nextvisit/contracts'

/** Exit codes: 0 done, 1 refused or failed, 2 wrong arguments or an invalid file. */
export const EXIT = { done: 0, failed: 1, usage: 2 } as const

/** Returns whether an error is one of ours, whose message names the remedy. */
export function isOurs(error: unknown): error is Error & { readonly code: string } {
  return error instanceof Error && 'code' in error && 'retryable' in error
}

/** Returns whether a service has refused INTERNAL_TOKEN, by the error of a call. */
export function isTokenRefused({ message }: Error): boolean {
  return message.includes('answered 401')
}

/** Returns the first line of a message. Prisma's messages begin with an empty line. */
export function firstLine({ message }: Error): string {
  return message.trim().split('\n', 1)[0] ?? ''
}

/** Returns the exit code of a command that this error ended. */
export function exitCodeOf(error: unknown): number {
  if (isOurs(error) && error.code === 'BAD_CONFIG') return EXIT.usage
  return error instanceof CliError ? error.exitCode : EXIT.failed
}

/** Ends a command with a message that names the remedy. */
export class CliError extends Error {
  override readonly name: string = 'CliError'
  readonly code: string = 'COMMAND_FAILED'
  readonly retryable: boolean = false
  readonly exitCode: number

  constructor(message: string, exitCode: number = EXIT.failed, options?: ErrorOptions) {
    super(message, options)
    this.exitCode = exitCode
  }
}

/** Ends a command because of an invalid workspace file, whose faults are printed. */
export class InvalidWorkspace extends CliError {
  override readonly name = 'InvalidWorkspace'
  override readonly code = 'INVALID_WORKSPACE'
  readonly faults: readonly WorkspaceFault[]

  constructor(file: string, faults: readonly WorkspaceFault[]) {
    super(
      `${file} has ${faults.length === 1 ? 'one fault' : `${faults.length} faults`}. Nothing was changed.`,
      EXIT.usage,
    )
    this.faults = faults
  }
}
