import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { createMarks } from './marks.ts'
import { createPauses } from './pauses.ts'
import type { Attempt, VisitAnswer } from './result.ts'
import type { Send } from './send.ts'
import type { Store } from './store.ts'
import { createVisits } from './visits.ts'

const ANSWER: VisitAnswer = { message: 'ok', userId: 'u', pingAgainIn: 60, pingOnNextPageVisit: false, onPageDelay: 0 }

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
})

/** Creates a tab whose requests `respond` answers. */
function givenTab(respond: (request: Parameters<Send>[0]) => Attempt<VisitAnswer>) {
  const sent: string[] = []
  const answered: string[] = []
  const visits = createVisits({
    body: '{}',
    send: (async (request: Parameters<Send>[0]) => {
      sent.push(request.key)
      return respond(request)
    }) as Send,
    store,
    marks: createMarks('test:'),
    pauses: createPauses(),
    lockName: 'test:',
    isClosed: () => false,
    onAnswer: (key) => answered.push(key),
  })
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
    vi.stubGlobal('document', { visibilityState: 'hidden' })
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
    const first = lost.visits.visit()
    await vi.advanceTimersByTimeAsync(0)
    const next = givenTab(() => ({ outcome: 'answered', answer: ANSWER }))
    await next.visits.visit()
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
})
