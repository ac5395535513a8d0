/**
 * Why a record that could be parsed is a dead letter. The error of the fold stands at the end, and may quote what a user
 * said: {@link withoutQuotedError} is for those who must not see that.
 */
export function causeOfFailedRetry(error: string): string {
  return `folding it failed: ${error}`
}

/** As {@link causeOfFailedRetry}; `by`: the operator who set the record aside. */
export function causeOfSetAside(by: string, error: string): string {
  return `set aside by ${by}: ${error}`
}

/** A name may hold a colon, so the first colon ends what may be shown. */
const BEFORE_AN_ERROR = /^(?:folding it failed|set aside by [^:]*):/

/** A cause with `replacement` instead of an error that it quotes, and of all that follows a colon in the operator's name. */
export function withoutQuotedError(cause: string, replacement: string): string {
  const [shown] = BEFORE_AN_ERROR.exec(cause) ?? []
  return shown === undefined ? cause : `${shown} ${replacement}`
}
