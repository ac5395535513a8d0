import { isRetryable } from './retry.ts'
import type { Attempt } from './result.ts'

/** Timeout of a request in ms, longer than any answer of the gateway takes. */
const GIVE_UP_AFTER_MS = 10_000
/** Maximum bytes of a request with `keepalive`. A browser refuses more than 64 KiB in total. */
const MAX_KEPT_BYTES = 60_000

/** Sends a request once. Never rejects. */
export type Send = <Answer>(request: {
  readonly route: 'answers' | 'identify-user' | 'track-event'
  /** Body as JSON. */
  readonly body: string
  /** Value of `Idempotency-Key`. */
  readonly key: string
  /** True if the request outlives its page. */
  readonly keepalive: boolean
}) => Promise<Attempt<Answer>>

/** Creates a function that sends requests to `host`, the gateway's URL. */
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
      // Another server may answer with any JSON.
      const answer = { ...(await response.json()) }
      return response.ok ? { outcome: 'answered', answer } : { outcome: 'refused', status, message: answer.message }
    } catch {
      return { outcome: 'failed', retryAfterMs: 0 }
    }
  }
}

/** Time in the last key. */
let lastMs = 0

/** Creates an `Idempotency-Key`. It begins with the time, so that keys sort by age. Works without https, unlike `randomUUID`. */
export function createRequestKey(): string {
  return `${(lastMs = Math.max(lastMs + 1, Date.now()))}-${crypto.getRandomValues(new Uint32Array(4)).join('')}`
}

/**
 * Returns the age of a key in ms by this browser's clock, or the time until then: the clock may have been set back since. A key
 * without a time is as old as 1970.
 */
export function ageOfKey(key: string): number {
  return Math.abs(Date.now() - (Number.parseInt(key, 10) || 0))
}
