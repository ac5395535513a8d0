import { toJson } from '@nextvisit/contracts/to-json'
import type { Backoff } from './backoff.ts'
import { isHidden } from './page.ts'
import type { Pauses } from './pauses.ts'
import { refusedBy, type Result, type TrackAnswer } from './result.ts'
import { ageOfKey, createRequestKey, type Send } from './send.ts'
import type { Store } from './store.ts'
import { sweep } from './sweep.ts'

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
  readonly backoff: Backoff
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
  const { user, send, backoff, store, pauses, isClosed, identified } = parts
  /** JSON of unanswered events, by key. */
  const waiting = new Map<string, string>()
  let isIdentified = false
  void identified.then(() => (isIdentified = true))

  /** Sends an event until it is answered, under one key, so that the gateway counts it once. */
  async function deliver(key: string, event: string): Promise<Result<TrackAnswer>> {
    waiting.set(key, event)
    // The page was hidden before, so `keepUnanswered` has already run.
    if (isHidden()) keep([[key, event]])
    const result = await sendUntilAnswered(key, event)
    waiting.delete(key)
    if (result.outcome !== 'unanswered' || result.reason === 'unreachable') store.take(PREFIX + key)
    return result
  }

  async function sendUntilAnswered(key: string, event: string): Promise<Result<TrackAnswer>> {
    const body = JSON.stringify({ ...user, ...JSON.parse(event) })
    // The clock may have been set back since.
    const leftMs = () => TRIED_FOR_MS - Math.abs(ageOfKey(key))
    for (;;) {
      // The visit comes first, because it creates the user and starts the session. A page that is being left waits for nothing.
      let isLeft = !isIdentified && (await Promise.race([identified, pauses.pause(leftMs())]))
      while (!isLeft && leftMs() > 0 && backoff.leftMs() > 0) isLeft = await backoff.pause(leftMs())
      // Few of many waiting events try the gateway, so the age is checked before each attempt.
      if (leftMs() <= 0) return { outcome: 'unanswered', reason: 'unreachable' }
      const attempt = await send<TrackAnswer>({ route: 'track-event', body, key, keepalive: true })
      const isTooEarly = !isIdentified && attempt.outcome === 'refused' && attempt.status === 404
      if (attempt.outcome !== 'failed' && !isTooEarly) return attempt
      if (isClosed()) return { outcome: 'unanswered', reason: 'closed' }
    }
  }

  function keep(events: Iterable<readonly [string, string]>): void {
    for (const [key, event] of events) store.set(PREFIX + key, event)
    sweep()
  }

  return {
    track: async (eventName, properties) => {
      if (isClosed()) return { outcome: 'unanswered', reason: 'closed' }
      if (waiting.size >= MAX_WAITING) return { outcome: 'unanswered', reason: 'full' }
      try {
        return await deliver(createRequestKey(), toJson({ eventName, properties }))
      } catch (error) {
        return refusedBy(error)
      }
    },
    sendLeftovers: () => {
      for (const name of store.names(PREFIX)) {
        const key = name.slice(PREFIX.length)
        const event = store.get(name)
        if (event === undefined || waiting.has(key)) continue
        deliver(key, event).catch(() => store.take(name))
      }
    },
    keepUnanswered: () => keep(waiting),
  }
}
