import {
  type ListenAnswer,
  type ListenQuery,
  MAX_LISTENERS,
  type ProjectRef,
  TOO_MANY_LISTENERS,
  type WebhookEvent,
} from '@nextvisit/contracts'
import { parseWebhookSecret } from '@nextvisit/domain'
import { remainingMs } from '@nextvisit/service-kit'
import { signAttempt } from './sending/signature.ts'

/** Of a listener, while it does not ask. */
const MAX_WAITING = 1_000
const MAX_WAITING_CHARACTERS = 2 * 2 ** 20
const FORGOTTEN_AFTER_MS = 30_000
/** Longest wait of a question for the first delivery, ms. */
const WAIT_MS = 5_000
const KEPT_FOR_ANSWER_MS = 500
const MAX_ANSWERED = 100
/** An answer of a call is at most 8 MiB, and a body at most some hundred kilobytes. */
const MAX_ANSWERED_CHARACTERS = 1_000_000

/** A record that webhooks report, as a delivery to all listeners of its project. */
export interface HeardEvent extends ProjectRef {
  readonly userId: string
  readonly webhookId: string
  readonly type: WebhookEvent
  /** Without its captured members. */
  readonly body: string
  readonly capture: readonly string[]
}

/** Completes the body of an event. `later`: a service is down, or behind. `gone`: the answers do not exist, mostly because the user is erased. */
export type CompleteHeard = (
  event: HeardEvent,
) => Promise<{ readonly outcome: 'known'; readonly body: string } | { readonly outcome: 'later' | 'gone' }>

interface Listener extends ProjectRef {
  readonly events: ReadonlySet<WebhookEvent> | undefined
  readonly waiting: HeardEvent[]
  /** Of each question that takes events now: the users who are erased meanwhile. */
  readonly erasures: Set<Set<string>>
  characters: number
  missed: number
  askedMs: number
  wake: () => void
}

/** The circumstances of a question. */
interface ListenContext {
  readonly signal: AbortSignal
  /** `performance.now()` instant. */
  readonly deadlineAt: number
  readonly now: () => Date
}

export type Listeners = ReturnType<typeof createListeners>

/**
 * Creates the listeners of `nextvisit webhooks listen`. They hear the records that this process folds, from their first question on, in
 * memory: nothing is stored or retried, and a listener that asks no more is forgotten.
 */
export function createListeners() {
  const listeners = new Map<string, Listener>()
  let complete: CompleteHeard = completeThin

  function forgetOld(): void {
    const beforeMs = performance.now() - FORGOTTEN_AFTER_MS
    for (const [id, { askedMs }] of listeners) if (askedMs < beforeMs) listeners.delete(id)
  }

  function listenerOf({ listenerId, organization, project, events }: ListenQuery): Listener | undefined {
    const known = listeners.get(listenerId)
    if (known?.organization === organization && known.project === project) return known
    if (listeners.size >= MAX_LISTENERS) return undefined
    const listener: Listener = {
      organization,
      project,
      events: events && new Set(events),
      waiting: [],
      erasures: new Set(),
      characters: 0,
      missed: 0,
      askedMs: 0,
      wake: () => {},
    }
    listeners.set(listenerId, listener)
    return listener
  }

  /** Takes the events that can be completed now, in their order. */
  async function take(listener: Listener, signal: AbortSignal): Promise<readonly (HeardEvent & { body: string })[]> {
    const taken = listener.waiting.splice(0, MAX_ANSWERED)
    const completed: HeardEvent[] = []
    const erased = new Set<string>()
    listener.erasures.add(erased)
    let [passed, characters] = [0, 0]
    for (const event of taken) {
      const known = await complete(event)
      if (known.outcome === 'later' || signal.aborted || characters > MAX_ANSWERED_CHARACTERS) break
      passed += 1
      if (known.outcome !== 'known') continue
      completed.push({ ...event, body: known.body })
      characters += known.body.length
    }
    // A caller that has left did not get them.
    const left = signal.aborted ? taken : taken.slice(passed)
    listener.erasures.delete(erased)
    listener.waiting.unshift(...withoutUsers(left, erased))
    listener.characters = charactersOf(listener.waiting)
    return withoutUsers(completed, erased)
  }

  return {
    /** The work of this process completes bodies with this function. */
    completeWith: (by: CompleteHeard): void => {
      complete = by
    },
    /** Returns true if anybody listens to the project. */
    isHeard: ({ organization, project }: ProjectRef): boolean => {
      for (const one of listeners.values())
        if (one.organization === organization && one.project === project) return true
      return false
    },
    /** Hands committed events to the listeners of their projects. */
    hear: (events: readonly HeardEvent[]): void => {
      forgetOld()
      for (const event of events)
        for (const listener of listeners.values()) {
          if (event.type === 'user.erased') dropEventsOf(listener, event)
          if (wants(listener, event)) add(listener, event)
        }
    },
    /** Answers with the deliveries of a listener, and waits for the first one. Answers early if the caller leaves. */
    listen: async (
      query: ListenQuery,
      { signal, deadlineAt, now }: ListenContext,
    ): Promise<ListenAnswer | typeof TOO_MANY_LISTENERS> => {
      if (!parseWebhookSecret(query.secret)) throw new TypeError('A listener needs the secret of a webhook')
      forgetOld()
      const isNew = !listeners.has(query.listenerId)
      const listener = listenerOf(query)
      if (!listener) return TOO_MANY_LISTENERS
      listener.askedMs = performance.now()
      // The first answer tells that the listening has begun.
      if (!isNew && listener.waiting.length === 0)
        await heard(listener, Math.min(WAIT_MS, remainingMs(deadlineAt) - KEPT_FOR_ANSWER_MS), signal)
      const taken = await take(listener, signal)
      const { missed } = listener
      listener.missed = 0
      listener.askedMs = performance.now()
      const deliveries = taken.map(({ webhookId, body }) => ({
        headers: { 'content-type': 'application/json', ...signAttempt({ webhookId, body }, query, now()) },
        body,
      }))
      return { deliveries, missed }
    },
  }
}

/** Without the work of the process, only thin bodies are complete. */
async function completeThin({ body, capture }: HeardEvent): ReturnType<CompleteHeard> {
  return capture.length === 0 ? { outcome: 'known', body } : { outcome: 'later' }
}

function wants({ organization, project, events }: Listener, event: HeardEvent): boolean {
  return event.organization === organization && event.project === project && events?.has(event.type) !== false
}

function add(listener: Listener, event: HeardEvent): void {
  const { length } = event.body
  if (listener.waiting.length >= MAX_WAITING || listener.characters + length > MAX_WAITING_CHARACTERS) {
    listener.missed += 1
    return
  }
  listener.waiting.push(event)
  listener.characters += length
  listener.wake()
}

/** Drops the events of an erased user. Questions that take some now drop them before they answer. */
function dropEventsOf(listener: Listener, { organization, project, userId }: HeardEvent): void {
  if (listener.organization !== organization || listener.project !== project) return
  for (const erased of listener.erasures) erased.add(userId)
  const kept = withoutUsers(listener.waiting, new Set([userId]))
  listener.waiting.splice(0, listener.waiting.length, ...kept)
  listener.characters = charactersOf(kept)
}

/** An erased user is named by the erasure only. */
function withoutUsers(events: readonly HeardEvent[], erased: ReadonlySet<string>): readonly HeardEvent[] {
  return events.filter(({ userId, type }) => type === 'user.erased' || !erased.has(userId))
}

function charactersOf(events: readonly HeardEvent[]): number {
  return events.reduce((sum, { body }) => sum + body.length, 0)
}

/** Waits until a listener hears something, for some time. */
async function heard(listener: Listener, withinMs: number, signal: AbortSignal): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>()
  const timer = setTimeout(resolve, Math.max(0, withinMs))
  const onAbort = () => resolve()
  listener.wake = resolve
  signal.addEventListener('abort', onAbort)
  await promise
  clearTimeout(timer)
  signal.removeEventListener('abort', onAbort)
}
