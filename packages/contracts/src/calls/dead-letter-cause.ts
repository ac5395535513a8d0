/** The cause of dead letters whose user was erased. They have no bytes any more, and are never folded. */
export const CAUSE_OF_ERASED = 'the user was erased, and this record with it'

/**
 * Returns the cause of a dead letter that was parsed, but failed to fold. It ends with the error, which may quote personal
 * data: see {@link withoutQuotedError}.
 */
export function causeOfFailedRetry(error: string): string {
  return `folding it failed: ${error}`
}

/** Returns the cause of a record that the operator `by` set aside. It ends with the error that halted the partition. */
export function causeOfSetAside(by: string, error: string): string {
  return `set aside by ${by}: ${error}`
}

/** An operator's name may contain colons; everything after the first one is hidden. */
const BEFORE_AN_ERROR = /^(?:folding it failed|set aside by [^:]*):/

/** Returns a cause with `replacement` in place of a quoted error, and of everything after a colon in the operator's name. */
export function withoutQuotedError(cause: string, replacement: string): string {
  const [shown] = BEFORE_AN_ERROR.exec(cause) ?? []
  return shown === undefined ? cause : `${shown} ${replacement}`
}
