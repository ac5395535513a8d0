import type { FormAnswer } from '@nextvisit/contracts/shown-form'
import { toJson } from '@nextvisit/contracts/to-json'
import type { PageParts } from './page-parts.ts'
import { type AnswersAnswer, refusedBy, type Result, type TrackAnswer } from './result.ts'
import { ageOfKey, createRequestKey } from './send.ts'
import { MAX_AGES_MS, sweep } from './sweep.ts'

const MAX_WAITING = 100

type Kind = 'answers' | 'event'

/** A value in an event's properties. At most 5 levels and 32,768 bytes of JSON in all. */
export type Property = string | number | boolean | null | readonly Property[] | { readonly [name: string]: Property }
export type Properties = Readonly<Record<string, Property>>

/** Events and answers that the gateway does not have yet. They are stored, because the page may end at any moment. */
export interface Queue {
  /** Sends an event. Never rejects. */
  readonly track: (eventName: string, properties?: Properties) => Promise<Result<TrackAnswer>>
  /**
   * Sends answers to a form, one request after the other. They replace waiting partial answers to their offer whose elements they
   * all have. Never rejects.
   */
  readonly answer: (answer: FormAnswer) => Promise<Result<AnswersAnswer>>
  /** Sends unanswered events and answers of earlier pages. */
  readonly sendLeftovers: () => void
}

/** Creates the queue of a page. `identified` resolves once the user is identified. */
export function createQueue(parts: Omit<PageParts, 'marks'>, identified: Promise<void>): Queue {
  const { user, send, backoff, store, pauses, isClosed } = parts
  /** Resolves once the last answer is sent. */
  let before: Promise<unknown> = Promise.resolve()

  /**
   * Sends an item until it is answered, under one key, so that the gateway counts it once. The name of answers ends with their
   * offer and status.
   */
  async function deliver<Answer>(name: string, item: string): Promise<Result<Answer>> {
    const sending = sendInTurn<Answer>(name, item)
    if (name.startsWith('answers')) before = sending
    const result = await sending
    if ((result as { readonly reason?: string }).reason !== 'closed') store.take(name)
    // Nobody awaits the result of what an earlier page left.
    // oxlint-disable-next-line no-console -- the only report
    if (result.outcome === 'refused') console.warn('Nextvisit', result)
    return result
  }

  async function sendInTurn<Answer>(name: string, item: string): Promise<Result<Answer>> {
    const [kind, key] = name.split(':') as [Kind, string]
    const body = `${JSON.stringify(user).slice(0, -1)},${item.slice(1)}`
    const leftMs = () => MAX_AGES_MS[kind] - ageOfKey(key)
    let isReady = false
    const ready = (kind === 'event' ? identified : before).then(() => !(isReady = true) as false)
    for (;;) {
      let isLeft = false
      // A page that is being left waits for nothing.
      // oxlint-disable-next-line no-unmodified-loop-condition -- `ready` sets it
      while (!isLeft && leftMs() > 0 && (!isReady || backoff.leftMs() > 0))
        isLeft = await (isReady ? backoff.pause(leftMs()) : pauses.pause(leftMs(), ready))
      // Few of many waiting items try the gateway, so the age is checked before each attempt.
      if (leftMs() <= 0) return { outcome: 'unanswered', reason: 'unreachable' }
      // By a later answer of any page, which the gateway may have: this one must not arrive after it.
      if (store.get(`replaced-${name}`)) return { outcome: 'unanswered', reason: 'replaced' }
      const route = kind === 'event' ? 'track-event' : kind
      const attempt = await send<Answer>({ route, body, key, keepalive: true })
      // Without a user, the gateway answers 404.
      const isKnown = isReady || (attempt as { readonly status?: number }).status !== 404
      if (isKnown && attempt.outcome !== 'failed') return attempt
      if (isClosed()) return { outcome: 'unanswered', reason: 'closed' }
    }
  }

  async function add<Answer>(kind: Kind, item: Partial<FormAnswer>): Promise<Result<Answer>> {
    if (isClosed()) return { outcome: 'unanswered', reason: 'closed' }
    if (kind === 'event' && store.names(kind).length >= MAX_WAITING) return { outcome: 'unanswered', reason: 'full' }
    try {
      const json = toJson(item)
      for (const earlier of store.names('answers'))
        if (
          earlier.endsWith(`:${item.offerId}:partial`) &&
          elementsOf(store.get(earlier) ?? '{}').every((id) => elementsOf(json).includes(id))
        ) {
          store.take(earlier)
          // A missing answer is not a replaced one: the page may have called `localStorage.clear()`.
          store.set(`replaced-${earlier}`, '1')
        }
      const name = [kind, createRequestKey(), item.offerId, item.status].join(':')
      store.set(name, json)
      sweep()
      return await deliver(name, json)
    } catch (error) {
      return refusedBy(error)
    }
  }

  return {
    track: (eventName, properties) => add('event', { eventName, properties } as object),
    answer: (answer) => add('answers', answer),
    sendLeftovers: () => {
      for (const name of ['answers', 'event'].flatMap(store.names)) {
        const item = store.get(name)
        if (item) void deliver(name, item)
      }
    },
  }
}

/** Returns the ids of the elements that these answers have. */
function elementsOf(item: string): readonly string[] {
  return Object.keys({ ...(JSON.parse(item) as Partial<FormAnswer>).answers })
}
