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
   * Sends answers to a form, one request after the other. Removes earlier partial answers to its offer, which are part of these.
   * Never rejects.
   */
  readonly answer: (answer: FormAnswer) => Promise<Result<AnswersAnswer>>
  /** Sends unanswered events and answers of earlier pages. */
  readonly sendLeftovers: () => void
}

/** Creates the queue of a page. `identified` resolves once the user is identified. */
export function createQueue(parts: Omit<PageParts, 'marks'>, identified: Promise<void>): Queue {
  const { user, send, backoff, store, pauses, isClosed } = parts
  /** Number of items that this page sends. */
  let waiting = 0
  /** Resolves once the last answer is sent. */
  let before: Promise<unknown> = Promise.resolve()

  /**
   * Sends an item until it is answered, under one key, so that the gateway counts it once. The name of answers ends with their
   * offer and status.
   */
  async function deliver<Answer>(name: string, item: string): Promise<Result<Answer>> {
    const [kind, key, offerId, status] = name.split(':') as [Kind, string, string, string]
    for (const earlier of store.names('answers'))
      if (earlier < name && earlier.endsWith(`:${offerId}:partial`)) store.take(earlier)
    waiting += 1
    store.set(name, item)
    sweep()
    // By a later answer of any page, which the gateway may have: this one must not arrive after it.
    const isReplaced = () => status === 'partial' && store.get(name) === undefined
    const sending = sendInTurn<Answer>(kind, key, item, isReplaced)
    if (offerId) before = sending
    const result = await sending
    waiting -= 1
    if ((result as { readonly reason?: string }).reason !== 'closed') store.take(name)
    // Nobody awaits the result of what an earlier page left.
    // oxlint-disable-next-line no-console -- the only report
    if (result.outcome === 'refused') console.warn('Nextvisit', result)
    return result
  }

  async function sendInTurn<Answer>(
    kind: Kind,
    key: string,
    item: string,
    isReplaced: () => boolean,
  ): Promise<Result<Answer>> {
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
      if (isReplaced()) return { outcome: 'unanswered', reason: 'replaced' }
      const route = kind === 'event' ? 'track-event' : kind
      const attempt = await send<Answer>({ route, body, key, keepalive: true })
      const isTooEarly = !isReady && (attempt as { readonly status?: number }).status === 404
      if (attempt.outcome !== 'failed' && !isTooEarly) return attempt
      if (isClosed()) return { outcome: 'unanswered', reason: 'closed' }
    }
  }

  async function add<Answer>(kind: Kind, item: Partial<FormAnswer>): Promise<Result<Answer>> {
    if (isClosed()) return { outcome: 'unanswered', reason: 'closed' }
    if (kind === 'event' && waiting >= MAX_WAITING) return { outcome: 'unanswered', reason: 'full' }
    try {
      return await deliver([kind, createRequestKey(), item.offerId, item.status].join(':'), toJson(item))
    } catch (error) {
      return refusedBy(error)
    }
  }

  return {
    track: (eventName, properties) => add('event', { eventName, properties } as object),
    answer: (answer) => add('answers', answer),
    sendLeftovers: () => {
      for (const name of [...store.names('answers'), ...store.names('event')]) {
        const item = store.get(name)
        if (item) void deliver(name, item)
      }
    },
  }
}
