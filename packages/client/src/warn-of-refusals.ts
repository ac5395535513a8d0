import type { CallItem } from './nextvisit-error.ts'
import type { Refusal } from './results.ts'

const SPACING_MS = 60_000

/**
 * Creates the default of `onRefused`, which logs a refusal, at most one a minute, so that a wrong key is noticed. The line
 * names no user.
 */
export function createRefusalWarning(): (refusal: Refusal, item: CallItem) => void {
  let quietUntil = -Infinity
  let unnamed = 0
  return ({ status, message }, { type }) => {
    const now = performance.now()
    if (now < quietUntil) {
      unnamed += 1
      return
    }
    const others = unnamed > 0 ? ` ${unnamed} more were refused since the previous line.` : ''
    // oxlint-disable-next-line no-console -- a published library has no logger
    console.warn(
      `@nextvisit/client: ${type} was refused with ${status}: ${message}.${others} Set onRefused to handle refusals.`,
    )
    quietUntil = now + SPACING_MS
    unnamed = 0
  }
}
