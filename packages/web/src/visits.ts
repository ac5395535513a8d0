import { isHidden } from './is-hidden.ts'
import type { Marks } from './marks.ts'
import type { Pauses } from './pauses.ts'
import { createRequestKey } from './request-key.ts'
import type { Attempt, Result, VisitAnswer } from './result.ts'
import { retryDelayMs } from './retry.ts'
import { type Schedule, scheduleAfter } from './schedule.ts'
import type { Send } from './send.ts'
import type { Store } from './store.ts'

/** The key of a visit that was sent and whose answer did not arrive. */
const UNANSWERED = 'visit'
const MAX_ATTEMPTS = 5

export interface VisitParts {
  /** JSON. */
  readonly body: string
  readonly send: Send
  readonly store: Store
  readonly marks: Marks
  readonly pauses: Pauses
  /** Names the lock that the tabs of one user share. */
  readonly lockName: string
  readonly isClosed: () => boolean
  readonly onAnswer: (visitKey: string, answer: VisitAnswer) => void
}

export interface Visits {
  /** Asks now; joins a visit that is under way. Never rejects. */
  readonly visit: () => Promise<Result<VisitAnswer>>
  /** Asks if the schedule says so and somebody sees the page. */
  readonly visitIfDue: (isNextPage?: boolean) => void
  /** When the gateway has answered a visit of this page, or refused it. */
  readonly settled: Promise<void>
  readonly stop: () => void
}

export function createVisits(parts: VisitParts): Visits {
  const { body, send, store, marks, pauses, lockName, isClosed, onAnswer } = parts
  let ownKey: string
  let isDue = false
  let schedule: Schedule | undefined
  let underWay: Promise<Result<VisitAnswer>> | undefined
  let timer: ReturnType<typeof setTimeout> | undefined
  let settle!: () => void
  // `Promise.withResolvers` is not in Node 20, and pages are rendered there.
  const settled = new Promise<void>((resolve) => (settle = resolve))

  async function ask(): Promise<Result<VisitAnswer>> {
    ownKey = ''
    for (let failures = 1; ; failures += 1) {
      const attempt = await alone(lockName, tryOnce)
      if (attempt.outcome !== 'failed') return attempt
      if (failures < MAX_ATTEMPTS) await pauses.pause(retryDelayMs(failures, attempt.retryAfterMs, Math.random()))
      if (isClosed()) return { outcome: 'unanswered', reason: 'closed' }
      if (failures === MAX_ATTEMPTS) return { outcome: 'unanswered', reason: 'unreachable' }
    }
  }

  /**
   * Repeats a visit first that an earlier page sent and did not hear the answer of: it may have brought a form, which the
   * gateway counts as delivered. The gateway keeps the answer under the visit's key.
   */
  async function tryOnce(): Promise<Attempt<VisitAnswer>> {
    const left = store.get(UNANSWERED)
    const isAnswered = left === undefined || (await marks.isMarked(left))
    if (isAnswered || left !== ownKey) {
      const attempt = isAnswered ? undefined : await sendVisit(left, true)
      if (attempt?.outcome === 'failed') return attempt
      // Also where another page has repeated this visit: asked again, its form would be shown twice.
      ownKey = createRequestKey()
    }
    // If the key can't be kept, the request must end with the page: then the form is not counted as delivered.
    return sendVisit(ownKey, store.set(UNANSWERED, ownKey))
  }

  async function sendVisit(key: string, keepalive: boolean): Promise<Attempt<VisitAnswer>> {
    const attempt = await send<VisitAnswer>({ route: 'identify-user', body, key, keepalive })
    if (attempt.outcome === 'answered') onAnswer(key, attempt.answer)
    if (attempt.outcome === 'failed') return attempt
    store.take(UNANSWERED)
    // Another tab, which is next, may not see yet that it is taken.
    await marks.mark(key)
    return attempt
  }

  function visit(): Promise<Result<VisitAnswer>> {
    underWay ??= ask().then((result) => {
      underWay = undefined
      if (result.outcome !== 'unanswered') settle()
      if (isClosed()) return result
      schedule = scheduleAfter(result)
      isDue = false
      clearTimeout(timer)
      const becomeDue = () => {
        isDue = true
        visitIfDue()
      }
      // A timer goes on where the clock is set back.
      if (schedule.afterMs > 0) timer = setTimeout(becomeDue, schedule.afterMs)
      return result
    })
    return underWay
  }

  function visitIfDue(isNextPage = false): void {
    if (!isHidden() && (isDue || (isNextPage && schedule?.onNextPage))) void visit()
  }

  return { visit, visitIfDue, settled, stop: () => clearTimeout(timer) }
}

/** Runs one request at a time in all tabs: what another tab waits for is not taken for unanswered. `run` never rejects. */
function alone<T>(lockName: string, run: () => Promise<T>): Promise<T> {
  return new Promise((resolve) => {
    const runHere = () => resolve(run())
    try {
      const locked = navigator.locks.request(lockName, async () => resolve(await run()))
      // There are no locks without https, and in pages that have no storage.
      locked.catch(runHere)
    } catch {
      runHere()
    }
  })
}
