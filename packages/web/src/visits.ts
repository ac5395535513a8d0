import type { PageParts } from './page-parts.ts'
import { isHidden } from './page.ts'
import { type Attempt, refusedBy, type Result, type VisitAnswer } from './result.ts'
import { scheduleAfter } from './schedule.ts'
import { createRequestKey } from './send.ts'

/** Stored name of the key of a visit without an answer. */
const UNANSWERED = 'visit'
/** Maximum pause in ms before the next attempt of a visit. After a longer one, it is another visit. */
const LONGEST_WAIT_MS = 10_000
const FAILED = { outcome: 'failed', retryAfterMs: 0 } as const

export interface Visits {
  /** Makes a visit now, or joins a visit in flight. Never rejects. */
  readonly visit: () => Promise<Result<VisitAnswer>>
  /** Makes a visit if it is due and the page is visible. */
  readonly visitIfDue: (isNextPage?: boolean) => void
  /** Resolves once the gateway has answered or refused a visit of this page. */
  readonly settled: Promise<void>
  readonly stop: () => void
}

/** Creates the visits of a page. `writeBody` returns the body as JSON, and throws if it is not JSON. */
export function createVisits(
  { send, backoff, store, marks, isClosed }: Omit<PageParts, 'user' | 'pauses'>,
  writeBody: () => string,
  onAnswer: (visitKey: string, answer: VisitAnswer) => void,
): Visits {
  let body: string
  let ownKey: string
  let isDue = false
  let schedule: ReturnType<typeof scheduleAfter> | undefined
  let underWay: Promise<Result<VisitAnswer>> | undefined
  let timer: ReturnType<typeof setTimeout> | undefined
  let settle!: () => void
  // Pages may be rendered in Node 20, which lacks `Promise.withResolvers`.
  const settled = new Promise<void>((resolve) => (settle = resolve))

  async function ask(): Promise<Result<VisitAnswer>> {
    if (isClosed()) return { outcome: 'unanswered', reason: 'closed' }
    try {
      body = writeBody()
    } catch (error) {
      return refusedBy(error)
    }
    ownKey = ''
    for (;;) {
      const leftMs = backoff.leftMs()
      if (leftMs > LONGEST_WAIT_MS) return { outcome: 'unanswered', reason: 'unreachable' }
      const isLeft = leftMs > 0 && (await backoff.pause(LONGEST_WAIT_MS))
      if (isClosed()) return { outcome: 'unanswered', reason: 'closed' }
      // Another tab may have failed meanwhile.
      const attempt = await marks.alone(async () => (isLeft || backoff.leftMs() <= 0 ? tryOnce() : FAILED))
      if (attempt.outcome !== 'failed') return attempt
    }
  }

  /**
   * First repeats an unanswered visit of an earlier page: its answer may contain a form, which the gateway counts as
   * delivered. The gateway keeps the answer under the visit's key.
   */
  async function tryOnce(): Promise<Attempt<VisitAnswer>> {
    const left = store.get(UNANSWERED)
    const isAnswered = !left || (await marks.isMarked(left))
    if (isAnswered || left !== ownKey) {
      const attempt = isAnswered ? undefined : await sendVisit(left, true)
      if (attempt?.outcome === 'failed') return attempt
      // A new key, even if another page has repeated this visit; otherwise its form would be shown twice.
      ownKey = createRequestKey()
    }
    // Without a stored key, the request must end with the page, so that its form does not count as delivered.
    return sendVisit(ownKey, store.set(UNANSWERED, ownKey))
  }

  async function sendVisit(key: string, keepalive: boolean): Promise<Attempt<VisitAnswer>> {
    const attempt = await send<VisitAnswer>({ route: 'identify-user', body, key, keepalive })
    if (attempt.outcome === 'answered') onAnswer(key, attempt.answer)
    if (attempt.outcome === 'failed') return attempt
    store.take(UNANSWERED)
    // The next tab may not see yet that the key is taken.
    await marks.mark(key)
    return attempt
  }

  function visit(): Promise<Result<VisitAnswer>> {
    underWay ??= ask().then((result) => {
      underWay = undefined
      if (result.outcome !== 'unanswered') settle()
      if (isClosed()) return result
      schedule = scheduleAfter(result, backoff.leftMs())
      isDue = false
      clearTimeout(timer)
      const becomeDue = () => {
        isDue = true
        visitIfDue()
      }
      // A timer is unaffected by changes of the clock.
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
