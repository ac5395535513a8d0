import { isRetryable } from './retry.ts'
import type { Attempt } from './result.ts'

/** Longer than any answer of the gateway takes. */
const GIVE_UP_AFTER_MS = 10_000
/** A browser refuses to keep requests of more than 64 KiB in all. */
const MAX_KEPT_BYTES = 60_000

export interface Sending {
  readonly route: 'identify-user' | 'track-event'
  /** JSON. */
  readonly body: string
  /** The `Idempotency-Key`. */
  readonly key: string
  /** Whether the request goes on when the page is left. */
  readonly keepalive: boolean
}

/** Sends a request once. Never rejects. */
export type Send = <Answer>(sending: Sending) => Promise<Attempt<Answer>>

/** `host` is the gateway's URL, such as `https://nextvisit.example.com`. */
export function createSend(host: string, apiKey: string): Send {
  return async ({ route, body, key, keepalive }) => {
    try {
      const response = await fetch(`${host.replace(/\/+$/, '')}/v2/sdk/${route}`, {
        method: 'POST',
        headers: { 'Content-Type': 'application/json', 'X-Api-Key': apiKey, 'Idempotency-Key': key },
        body,
        credentials: 'omit',
        keepalive: keepalive && new Blob([body]).size < MAX_KEPT_BYTES,
        signal: AbortSignal.timeout(GIVE_UP_AFTER_MS),
      })
      const { status, headers } = response
      if (isRetryable(status))
        return { outcome: 'failed', retryAfterMs: 1_000 * Number(headers.get('Retry-After')) || 0 }
      // Another server may answer with anything.
      const answer = { ...(await response.json()) }
      return response.ok ? { outcome: 'answered', answer } : { outcome: 'refused', status, message: answer.message }
    } catch {
      return { outcome: 'failed', retryAfterMs: 0 }
    }
  }
}
