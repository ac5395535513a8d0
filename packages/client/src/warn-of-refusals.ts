import type { CallItem } from './nextvisit-error.ts'
import type { Refusal } from './results.ts'

const SPACING_MS = 60_000

/**
 * Where the caller has no `onRefused`: writes a line for a refusal, at most one a minute, so that a wrong key is noticed.
 * Other clients do so for requests that fail. It names no user.
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
    const others = unnamed > 0 ? ` ${unnamed} more were refused since the line before this one.` : ''
    // oxlint-disable-next-line no-console -- a library of its own: there is no logger
    console.warn(
      `@nextvisit/client: ${type} was refused with ${status}: ${message}.${others} onRefused is told of each.`,
    )
    quietUntil = now + SPACING_MS
    unnamed = 0
  }
}
