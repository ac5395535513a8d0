import { isHidden } from './page.ts'
import type { Pauses } from './pauses.ts'
import type { Result, TrackAnswer } from './result.ts'
import { retryDelayMs } from './retry.ts'
import { ageOfKey, createRequestKey, type Send } from './send.ts'
import type { Store } from './store.ts'

/** Prefix of stored events: `{ eventName, properties }` under the event's key. */
const PREFIX = 'event:'
const MAX_WAITING = 100
/** Maximum age of an event in ms. The gateway sets its time at arrival, so the time of a later event would be wrong. */
const TRIED_FOR_MS = 3_600_000

/** A value in an event's properties. At most 5 levels and 32,768 bytes of JSON in all. */
export type Property = string | number | boolean | null | readonly Property[] | { readonly [name: string]: Property }
export type Properties = Readonly<Record<string, Property>>

interface EventParts {
  /** Members of every body. */
  readonly user: { readonly userName: string; readonly userSignature?: string | undefined }
  readonly send: Send
  readonly store: Store
  readonly pauses: Pauses
  readonly isClosed: () => boolean
  /** Resolves once the user is identified. */
  readonly identified: Promise<void>
}

export interface Events {
  /** Sends an event. Never rejects. */
  readonly track: (eventName: string, properties?: Properties) => Promise<Result<TrackAnswer>>
  /** Sends unanswered events of earlier pages. */
  readonly sendLeftovers: () => void
  /** Stores unanswered events, because the page may end at any moment. */
  readonly keepUnanswered: () => void
}

export function createEvents(parts: EventParts): Events {
  const { user, send, store, pauses, isClosed, identified } = parts
  /** JSON of unanswered events, by key. */
  const waiting = new Map<string, string>()
  let isIdentified = false
  void identified.then(() => (isIdentified = true))

  /** Sends an event until it is answered, under one key, so that the gateway counts it once. */
  async function deliver(key: string, event: string): Promise<Result<TrackAnswer>> {
    waiting.set(key, event)
    // The page was hidden before, so `keepUnanswered` has already run.
    if (isHidden()) store.set(PREFIX + key, event)
    const result = await sendUntilAnswered(key, event)
    waiting.delete(key)
    if (result.outcome !== 'unanswered' || result.reason === 'unreachable') store.take(PREFIX + key)
    return result
  }

  async function sendUntilAnswered(key: string, event: string): Promise<Result<TrackAnswer>> {
    const body = JSON.stringify({ ...user, ...JSON.parse(event) })
    // The visit comes first, because it creates the user and starts the session. A page that is being left cannot wait for it.
    if (!isIdentified) await Promise.race([identified, pauses.pause(TRIED_FOR_MS)])
    for (let failures = 1; ; failures += 1) {
      const attempt = await send<TrackAnswer>({ route: 'track-event', body, key, keepalive: true })
      const isTooEarly = !isIdentified && attempt.outcome === 'refused' && attempt.status === 404
      if (attempt.outcome !== 'failed' && !isTooEarly) return attempt
      if (isClosed()) return { outcome: 'unanswered', reason: 'closed' }
      if (ageOfKey(key) > TRIED_FOR_MS) return { outcome: 'unanswered', reason: 'unreachable' }
      const retryAfterMs = attempt.outcome === 'failed' ? attempt.retryAfterMs : 0
      await pauses.pause(retryDelayMs(failures, retryAfterMs, Math.random()))
    }
  }

  return {
    track: async (eventName, properties) => {
      if (isClosed()) return { outcome: 'unanswered', reason: 'closed' }
      if (waiting.size >= MAX_WAITING) return { outcome: 'unanswered', reason: 'full' }
      try {
        return await deliver(createRequestKey(), JSON.stringify({ eventName, properties }))
      } catch (error) {
        // Not JSON: a cycle or a bigint.
        return { outcome: 'refused', status: 0, message: String(error) }
      }
    },
    sendLeftovers: () => {
      for (const name of store.names(PREFIX)) {
        const key = name.slice(PREFIX.length)
        const event = store.get(name)
        if (event === undefined || waiting.has(key)) continue
        if (ageOfKey(key) < TRIED_FOR_MS) deliver(key, event).catch(() => store.take(name))
        else store.take(name)
      }
    },
    keepUnanswered: () => waiting.forEach((event, key) => store.set(PREFIX + key, event)),
  }
}
