import { createHash, timingSafeEqual } from 'node:crypto'
import type { ConsoleConfig } from '../config.ts'
import type { Role } from '../http/define-route.ts'

export type TokenCheck =
  | { readonly outcome: 'accepted'; readonly role: Role }
  | { readonly outcome: 'refused' }
  /** Wrong, after too many wrong tokens. */
  | { readonly outcome: 'too-many'; readonly retryAfterSeconds: number }

const WINDOW_MS = 60_000
/** Wrong tokens in a window, over all clients: behind a proxy their addresses are the same. */
const MAX_WRONG = 10

/**
 * Returns the role that a token gives. Compares in constant time. A valid token is always accepted, so wrong tokens lock
 * no user out. The limit on wrong tokens keeps the log short; tokens are too long to guess.
 */
export function createTokenCheck(tokens: ConsoleConfig['tokens'], nowMs: () => number): (token: string) => TokenCheck {
  const digests = {
    operator: tokens.operator === undefined ? null : digest(tokens.operator),
    viewer: tokens.viewer === undefined ? null : digest(tokens.viewer),
  }
  let wrongAtMs: number[] = []

  return (token) => {
    const given = digest(token)
    const isOperator = digests.operator !== null && timingSafeEqual(given, digests.operator)
    const isViewer = digests.viewer !== null && timingSafeEqual(given, digests.viewer)
    if (isOperator) return { outcome: 'accepted', role: 'operator' }
    if (isViewer) return { outcome: 'accepted', role: 'viewer' }
    wrongAtMs = wrongAtMs.filter((at) => at > nowMs() - WINDOW_MS)
    const [oldest] = wrongAtMs
    if (oldest !== undefined && wrongAtMs.length >= MAX_WRONG)
      return { outcome: 'too-many', retryAfterSeconds: Math.ceil((oldest + WINDOW_MS - nowMs()) / 1_000) }
    wrongAtMs.push(nowMs())
    return { outcome: 'refused' }
  }
}

/** Gives tokens equal length, as timingSafeEqual requires. */
function digest(text: string): Buffer {
  return createHash('sha256').update(text).digest()
}
