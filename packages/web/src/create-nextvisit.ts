import { createEvents, type Properties } from './events.ts'
import { createForms, type FormHandler } from './forms.ts'
import { isHidden } from './is-hidden.ts'
import { createMarks } from './marks.ts'
import { createPauses } from './pauses.ts'
import type { Result, TrackAnswer, VisitAnswer } from './result.ts'
import { createSend } from './send.ts'
import { createStore } from './store.ts'
import { userScope } from './user-scope.ts'
import { createVisits } from './visits.ts'
import { listen, watchNavigation } from './watch-navigation.ts'

/** A trait: a text of at most 500 characters, a number, a boolean, `null`, or a list of at most 100 of these. */
export type TraitValue = TraitScalar | readonly TraitScalar[]
export type TraitScalar = string | number | boolean | null

export interface NextvisitOptions {
  /** The publishable key of the project, `nv_sdk_…`. */
  readonly key: string
  /** The gateway's URL, such as `https://nextvisit.example.com`. */
  readonly host: string
  /** The user, as your server names them. */
  readonly userName: string
  /** Hex HMAC-SHA256 of userName, made by your server. Required if the project says so. */
  readonly userSignature?: string | undefined
  /** Traits to set at each visit. */
  readonly traits?: Readonly<Record<string, TraitValue>> | undefined
  /** Such as `{ $deviceType: 'web', $timezone: 'Europe/Berlin' }`. The country comes from the caller's address if it is not given. */
  readonly deviceInfo?: Readonly<Record<`$${string}`, string>> | undefined
}

/** No function throws, and no promise rejects. */
export interface Nextvisit {
  /**
   * Says that the user is here, and asks for the next form. From the first call on, visits are repeated as their answers
   * ask for. A call while a visit is under way joins it.
   */
  readonly visit: () => Promise<Result<VisitAnswer>>
  /** Records an event, once however often it has to be sent. Resolves to the gateway's answer. */
  readonly track: (eventName: string, properties?: Properties) => Promise<Result<TrackAnswer>>
  /** Calls the handler with each form that is to be shown. Returns what removes the handler. */
  readonly onForm: (handle: FormHandler) => () => void
  /** Ends everything, such as when the user signs out. What is not answered yet is sent once more. */
  readonly close: () => void
}

/** Opens nothing: `visit` and `track` do. It may also be called where there is no page, such as on a server. */
export function createNextvisit(options: NextvisitOptions): Nextvisit {
  const { key, host, userName, userSignature, traits, deviceInfo } = options
  const scope = `nextvisit:${userScope(key, userName)}:`
  const user = { userName, userSignature }
  const store = createStore(scope)
  const marks = createMarks(scope)
  const pauses = createPauses()
  const send = createSend(host, key)
  const forms = createForms(store, marks)
  let isClosed = typeof document === 'undefined'
  let ends: readonly (() => void)[] | undefined

  const visits = createVisits({
    // The page that repeats this visit may have other traits (docs/spec/decisions.md, Retries).
    body: toJson({
      ...user,
      userAttributes: traits && { $set: traits },
      $deviceInfo: deviceInfo,
      repeatMayDiffer: true,
    }),
    send,
    store,
    marks,
    pauses,
    lockName: scope,
    isClosed: () => isClosed,
    onAnswer: forms.keep,
  })
  const events = createEvents({ user, send, store, pauses, isClosed: () => isClosed, identified: visits.settled })

  function start(): void {
    if (ends) return
    ends = [
      watchNavigation(() => {
        visits.visitIfDue(true)
        forms.pageBegan()
      }),
      listen(document, 'visibilitychange', () => {
        if (isHidden()) return events.keepUnanswered()
        visits.visitIfDue()
        forms.pageShown()
      }),
      listen(globalThis, 'pagehide', leave),
      // A page that comes back as it was left.
      listen(globalThis, 'pageshow', (event) => {
        if (!(event as PageTransitionEvent).persisted) return
        void visits.visit()
        forms.pageBegan()
      }),
    ]
    void visits.visit()
    events.sendLeftovers()
    forms.pageBegan()
  }

  /** Whatever waits for another attempt gets it now. */
  function leave(): void {
    events.keepUnanswered()
    pauses.endAll()
  }

  return {
    visit: async () => {
      if (isClosed) return { outcome: 'unanswered', reason: 'closed' }
      start()
      return visits.visit()
    },
    track: async (eventName, properties) => {
      if (!isClosed) start()
      return events.track(eventName, properties)
    },
    onForm: (handle) => (isClosed ? () => {} : forms.onForm(handle)),
    close: () => {
      if (isClosed) return
      isClosed = true
      leave()
      visits.stop()
      forms.stop()
      ends?.forEach((end) => end())
    },
  }
}

/** Empty where there is no JSON, because of a circle or a bigint: the gateway refuses that, and says why. */
function toJson(value: object): string {
  try {
    return JSON.stringify(value)
  } catch {
    return ''
  }
}
