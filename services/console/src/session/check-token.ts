import { createHash, timingSafeEqual } from 'node:crypto'
import type { Role } from '../http/define-route.ts'

export type TokenCheck =
  | { readonly outcome: 'accepted'; readonly role: Role }
  | { readonly outcome: 'refused' }
  /** It is wrong, as too many were of late. */
  | { readonly outcome: 'too-many'; readonly retryAfterSeconds: number }

export interface TokenCheckOptions {
  readonly tokens: { readonly operator: string; readonly viewer: string | undefined }
  readonly nowMs: () => number
}

const WINDOW_MS = 60_000
/** Wrong tokens in a window, of everybody together: addresses behind a proxy are all alike. */
const MAX_WRONG = 10

/**
 * Says which role a token gives. Compares in constant time. A right token is always accepted: nobody can lock others out.
 * The limit tells whoever tries many to wait, and keeps the log short. A token is too long to be guessed.
 */
export function createTokenCheck({ tokens, nowMs }: TokenCheckOptions): (token: string) => TokenCheck {
  const digests = {
    operator: digest(tokens.operator),
    viewer: tokens.viewer === undefined ? null : digest(tokens.viewer),
  }
  let wrongAtMs: number[] = []

  return (token) => {
    const given = digest(token)
    const isOperator = timingSafeEqual(given, digests.operator)
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

/** Digests have equal length, as timingSafeEqual requires. */
function digest(text: string): Buffer {
  return createHash('sha256').update(text).digest()
}
