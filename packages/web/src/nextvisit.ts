import type { FormAnswer } from '@nextvisit/contracts/shown-form'
import { createBackoff, PAUSE } from './backoff.ts'
import { createForms, type FormHandler } from './forms.ts'
import { createMarks } from './marks.ts'
import { isHidden, listen, watchNavigation } from './page.ts'
import { createPauses } from './pauses.ts'
import { createQueue, type Properties } from './queue.ts'
import type { AnswersAnswer, Result, TrackAnswer, VisitAnswer } from './result.ts'
import { createSend } from './send.ts'
import { createStore } from './store.ts'
import { sweep } from './sweep.ts'
import { userScope } from './user-scope.ts'
import { writeVisitBody } from './visit-body.ts'
import { createVisits } from './visits.ts'

/** Value of a trait: a text of at most 500 characters, a number, a boolean, `null`, or a list of at most 100 of these. */
export type TraitValue = TraitScalar | readonly TraitScalar[]
export type TraitScalar = string | number | boolean | null

export interface NextvisitOptions {
  /** Publishable key of the project, `nv_sdk_…`. */
  readonly key: string
  /** The gateway's URL, such as `https://nextvisit.example.com`. */
  readonly host: string
  /** The user's name, as used by your server. */
  readonly userName: string
  /** Hex HMAC-SHA256 of userName, computed by your server. Needed if the project requires it. */
  readonly userSignature?: string | undefined
  /** Traits to set at each visit. */
  readonly traits?: Readonly<Record<string, TraitValue>> | undefined
  /**
   * Device facts, such as `{ $deviceType: 'web', $timezone: 'Europe/Berlin' }`. The country defaults to the
   * location of the caller's address.
   */
  readonly deviceInfo?: Readonly<Record<`$${string}`, string>> | undefined
}

/** A client. No function throws, and no promise rejects. */
export interface Nextvisit {
  /** Pseudonym of the user and the key, under which the browser stores values. */
  readonly scope: string
  /**
   * Reports the user's visit, and asks for the next form. After the first call, visits are repeated as their answers
   * request. A call during a visit joins it.
   */
  readonly visit: () => Promise<Result<VisitAnswer>>
  /** Records an event; it counts once, even if it is sent several times. Resolves to the gateway's answer. */
  readonly track: (eventName: string, properties?: Properties) => Promise<Result<TrackAnswer>>
  /**
   * Sends answers to a form, such as one of an earlier page. The gateway gets answers in the order of the calls, each once. An
   * answer replaces earlier partial ones to its offer that are not sent yet, if it has all their elements.
   * The answer in {@link Form} does the same for its form.
   */
  readonly answer: (answer: FormAnswer) => Promise<Result<AnswersAnswer>>
  /** Calls the handler with each form to show. Returns a function that removes the handler. */
  readonly onForm: (handle: FormHandler) => () => void
  /** Stops the client, for example when the user signs out. Unanswered requests are sent once more. */
  readonly close: () => void
}

/** Creates a client, which connects at the first `visit` or `track`. Works without a page, such as on a server. */
export function createNextvisit(options: NextvisitOptions): Nextvisit {
  const { key, host, userName, userSignature } = options
  const scope = `nextvisit:${userScope(key, userName)}:`
  const user = { userName, userSignature }
  const store = createStore(scope)
  const pauses = createPauses()
  const backoff = createBackoff(store, pauses)
  const send = backoff.counting(createSend(host, key))
  let isClosed = !globalThis.document
  let ends: readonly (() => void)[] | undefined

  const parts = { user, send, backoff, store, marks: createMarks(scope), pauses, isClosed: () => isClosed }
  const visits = createVisits(
    parts,
    () => writeVisitBody(user, options),
    (visitKey, answer) => forms.keep(visitKey, answer),
  )
  const queue = createQueue(parts, visits.settled)
  const forms = createForms(parts, queue.answer)

  function start(): void {
    if (ends || isClosed) return
    sweep()
    ends = [
      watchNavigation(() => {
        visits.visitIfDue(true)
        forms.pageBegan()
      }),
      listen(document, 'visibilitychange', () => {
        // The last event of many pages: a phone ends a hidden page without another. Others live on, and keep to the pause.
        if (isHidden() && !store.get(PAUSE)) leave()
        visits.visitIfDue()
        forms.pageShown()
      }),
      listen(globalThis, 'pagehide', leave),
      // A page restored from the browser's cache.
      listen(globalThis, 'pageshow', (event) => {
        if ((event as PageTransitionEvent).persisted) begin()
      }),
    ]
    begin()
    queue.sendLeftovers()
  }

  /** Begins a page that is new, or restored. */
  function begin(): void {
    void visits.visit()
    forms.pageBegan()
  }

  /** Retries all pending requests at once. */
  function leave(): void {
    pauses.endAll(true)
  }

  return {
    scope,
    visit: async () => {
      start()
      return visits.visit()
    },
    track: async (eventName, properties) => {
      start()
      return queue.track(eventName, properties)
    },
    answer: async (answer) => {
      start()
      return queue.answer(answer)
    },
    onForm: (handle) => (isClosed ? () => {} : forms.onForm(handle)),
    close: () => {
      isClosed = true
      leave()
      visits.stop()
      forms.stop()
      ends?.forEach((end) => end())
    },
  }
}
