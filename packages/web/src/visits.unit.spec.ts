import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { createBackoff } from './backoff.ts'
import { createMarks } from './marks.ts'
import { createPauses } from './pauses.ts'
import type { Attempt, VisitAnswer } from './result.ts'
import type { Send } from './send.ts'
import type { Store } from './store.ts'
import { createVisits } from './visits.ts'

const ANSWER: VisitAnswer = { message: 'ok', userId: 'u', pingAgainIn: 60, pingOnNextPageVisit: false, onPageDelay: 0 }

const unanswered = (): Attempt<VisitAnswer> => ({ outcome: 'failed', retryAfterMs: 0 })
const pausesOf = (times: readonly number[]) => times.slice(1).map((at, index) => at - (times[index] ?? 0))

/** Storage shared by the tabs of one user. */
let stored: Map<string, string>
const store: Store = {
  get: (name) => stored.get(name),
  set: (name, value) => stored.set(name, value) === stored,
  take: (name) => {
    const value = stored.get(name)
    stored.delete(name)
    return value
  },
  names: () => [...stored.keys()],
}

beforeEach(() => {
  stored = new Map()
  vi.useFakeTimers()
  vi.stubGlobal('document', { visibilityState: 'visible' })
  // Like a page without https, which has no locks: the tabs of this spec run one after the other anyway.
  vi.stubGlobal('navigator', {})
})
afterEach(() => {
  vi.useRealTimers()
  vi.unstubAllGlobals()
  vi.restoreAllMocks()
})

/** Creates a tab whose requests `respond` answers. */
function givenTab(respond: (request: Parameters<Send>[0]) => Attempt<VisitAnswer>, writeBody = () => '{}') {
  const sent: string[] = []
  const answered: string[] = []
  const backoff = createBackoff(store, createPauses())
  const send = async (request: Parameters<Send>[0]) => {
    sent.push(request.key)
    return respond(request)
  }
  const parts = {
    send: backoff.counting(send as Send),
    backoff,
    store,
    marks: createMarks('test:'),
    isClosed: () => false,
  }
  const visits = createVisits(parts, writeBody, (key) => answered.push(key))
  return { visits, sent, answered }
}

describe('visits', () => {
  it.each([0, -5, -3_600_000])('are repeated after pingAgainIn, even if the clock is set by %i ms', async (stepMs) => {
    const { visits, sent } = givenTab(() => ({ outcome: 'answered', answer: ANSWER }))
    await visits.visit()
    vi.setSystemTime(Date.now() + stepMs)
    await vi.advanceTimersByTimeAsync(59_999)
    expect(sent).toHaveLength(1)
    await vi.advanceTimersByTimeAsync(1)
    expect(sent).toHaveLength(2)
  })

  it.each([
    ['0', { ...ANSWER, pingAgainIn: 0 }],
    // An answer of another server.
    ['not a number', {}],
  ])('are not repeated by time if pingAgainIn is %s', async (_what, answer) => {
    const { visits, sent } = givenTab(() => ({ outcome: 'answered', answer: answer as VisitAnswer }))
    await visits.visit()
    await vi.advanceTimersByTimeAsync(2 ** 32)
    visits.visitIfDue(true)
    expect(sent).toHaveLength(1)
  })

  it('wait while the page is hidden, and are made as soon as it is visible', async () => {
    const { visits, sent } = givenTab(() => ({ outcome: 'answered', answer: ANSWER }))
    await visits.visit()
    vi.stubGlobal('document', { hidden: true })
    await vi.advanceTimersByTimeAsync(60_000)
    expect(sent).toHaveLength(1)
    vi.stubGlobal('document', { visibilityState: 'visible' })
    visits.visitIfDue()
    expect(sent).toHaveLength(2)
  })

  it('are made at the next page only with pingOnNextPageVisit', async () => {
    const { visits, sent } = givenTab(() => ({
      outcome: 'answered',
      answer: { ...ANSWER, pingOnNextPageVisit: sent.length === 1 },
    }))
    await visits.visit()
    visits.visitIfDue(false)
    expect(sent).toHaveLength(1)
    visits.visitIfDue(true)
    await visits.visit()
    expect(sent).toHaveLength(2)
    visits.visitIfDue(true)
    expect(sent).toHaveLength(2)
  })

  it('are repeated by another page, and then not again by the first page', async () => {
    const lost = givenTab(({ key }) =>
      key === lost.sent[0] ? { outcome: 'failed', retryAfterMs: 0 } : { outcome: 'answered', answer: ANSWER },
    )
    vi.spyOn(Math, 'random').mockReturnValue(1)
    const first = lost.visits.visit()
    await vi.advanceTimersByTimeAsync(0)
    const next = givenTab(() => ({ outcome: 'answered', answer: ANSWER }))
    // Of the tabs that wait for the end of a pause, this one is the first.
    vi.spyOn(Math, 'random').mockReturnValue(0)
    const visited = next.visits.visit()
    await vi.advanceTimersByTimeAsync(1_000)
    await visited
    expect(next.answered[0]).toBe(lost.sent[0])
    await vi.advanceTimersByTimeAsync(1_000)
    await first
    expect(lost.sent).toHaveLength(2)
    expect(lost.answered).toEqual([lost.sent[1]])
    expect(lost.sent[1]).not.toBe(lost.sent[0])
  })

  it('are repeated under the same key while no page has an answer', async () => {
    let failures = 0
    const { visits, sent } = givenTab(() => {
      failures += 1
      return failures < 3 ? { outcome: 'failed', retryAfterMs: 0 } : { outcome: 'answered', answer: ANSWER }
    })
    const visit = visits.visit()
    await vi.advanceTimersByTimeAsync(10_000)
    await visit
    expect(new Set(sent).size).toBe(1)
    expect(sent).toHaveLength(3)
  })

  describe('while no request is answered', () => {
    const DAY_MS = 86_400_000
    const atMs: number[] = []
    const failing = () => givenTab(() => (atMs.push(Date.now()), unanswered()))
    beforeEach(() => void atMs.splice(0))

    it('a page makes some attempts, says that the gateway is unreachable, and goes on after pauses that grow to five minutes', async () => {
      const { visits } = failing()
      let result: unknown
      void visits.visit().then((one) => (result = one))
      await vi.advanceTimersByTimeAsync(60_000)
      expect(result).toEqual({ outcome: 'unanswered', reason: 'unreachable' })
      await vi.advanceTimersByTimeAsync(DAY_MS)
      const pauses = pausesOf(atMs)
      for (const [index, pause] of pauses.entries()) {
        const wholeMs = Math.min(300_000, 1_000 * 2 ** index)
        expect(pause).toBeGreaterThanOrEqual(wholeMs / 2)
        expect(pause).toBeLessThanOrEqual(wholeMs * 1.25 + 1_000)
      }
      expect(atMs.length).toBeLessThan(2.2 * (DAY_MS / 300_000))
    })

    it('a reload, another page and an impatient application continue the same pause', async () => {
      await Promise.all([failing().visits.visit(), vi.advanceTimersByTimeAsync(600_000)])
      const before = atMs.length
      for (let reload = 0; reload < 50; reload += 1) {
        const { visits } = failing()
        void visits.visit()
        void visits.visit()
        await vi.advanceTimersByTimeAsync(1_000)
        visits.stop()
      }
      expect(atMs.length - before).toBeLessThanOrEqual(2)
    })

    it('twenty tabs make as many attempts as one', async () => {
      const locks = { request: oneAtATime() }
      vi.stubGlobal('navigator', { locks })
      const tabs = Array.from({ length: 20 }, failing)
      for (const { visits } of tabs) void visits.visit()
      await vi.advanceTimersByTimeAsync(3_600_000)
      expect(atMs.length).toBeLessThan(40)
    })

    it('Retry-After is kept, also by the next page', async () => {
      const { visits } = givenTab(() => ({ outcome: 'failed', retryAfterMs: 1_800_000 }))
      expect(await visits.visit()).toEqual({ outcome: 'unanswered', reason: 'unreachable' })
      visits.stop()
      const next = givenTab(() => ({ outcome: 'answered', answer: ANSWER }))
      void next.visits.visit()
      await vi.advanceTimersByTimeAsync(1_790_000)
      expect(next.sent).toEqual([])
      await vi.advanceTimersByTimeAsync(20_000)
      expect(next.answered).toHaveLength(2)
    })

    it('the first answer ends the pauses', async () => {
      let isDown = true
      const { visits } = givenTab(() => (isDown ? unanswered() : { outcome: 'answered', answer: ANSWER }))
      void visits.visit()
      await vi.advanceTimersByTimeAsync(3_600_000)
      isDown = false
      await vi.advanceTimersByTimeAsync(400_000)
      expect(store.get('retry')).toBeUndefined()
      expect(await visits.visit()).toMatchObject({ outcome: 'answered' })
    })
  })

  it('are refused if their body is not JSON', async () => {
    const { visits } = givenTab(
      () => ({ outcome: 'answered', answer: ANSWER }),
      () => {
        throw new TypeError('traits.score must be a finite number, not NaN')
      },
    )
    const message = 'traits.score must be a finite number, not NaN'
    expect(await visits.visit()).toEqual({ outcome: 'refused', status: 0, message })
  })
})

/** Locks as in `navigator.locks`, for one name. */
function oneAtATime() {
  let last = Promise.resolve<unknown>(undefined)
  return (_name: string, run: () => Promise<unknown>) => (last = last.then(run))
}
