import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { createBackoff } from './backoff.ts'
import { createEvents } from './events.ts'
import { createPauses } from './pauses.ts'
import type { Send } from './send.ts'
import { createStore } from './store.ts'

const HOUR_MS = 3_600_000
const UNREACHABLE = { outcome: 'unanswered', reason: 'unreachable' }

/** A request without an answer. */
const send: Send = () => new Promise(() => {})

afterEach(() => vi.unstubAllGlobals())

describe('an unanswered event', () => {
  it.each(['hidden', 'visible'])(
    'is stored at once if the page is %s, because the page may end',
    async (visibilityState) => {
      vi.stubGlobal('document', { visibilityState })
      const store = createStore('test:')
      const pauses = createPauses()
      const events = createEvents({
        user: { userName: 'ada' },
        send,
        backoff: createBackoff(store, pauses),
        store,
        pauses,
        isClosed: () => false,
        identified: Promise.resolve(),
      })
      void events.track('Left')
      expect(store.names('event:')).toHaveLength(visibilityState === 'hidden' ? 1 : 0)
      events.keepUnanswered()
      expect(store.names('event:')).toHaveLength(1)
    },
  )
})

describe('an event of an earlier page', () => {
  it.each([
    ['made 59 minutes ago is sent for one more minute', 59 * 60_000, 1],
    ['made more than an hour ago is removed without an attempt', HOUR_MS + 1, 0],
  ])('%s', async (_case, ageMs, attempts) => {
    vi.useFakeTimers()
    vi.stubGlobal('document', { visibilityState: 'visible' })
    const { events, store, sent } = givenPage()
    const key = `${Date.now() - ageMs}-1`
    store.set(`event:${key}`, '{"eventName":"Left"}')
    store.set('retry', `${Date.now()} 30000 9`)
    events.sendLeftovers()
    await vi.advanceTimersByTimeAsync(61_000)
    expect(store.names('event:')).toEqual([])
    expect(sent).toEqual(Array.from({ length: attempts }, () => key))
    vi.useRealTimers()
  })
})

describe('events during an outage', () => {
  beforeEach(() => {
    vi.useFakeTimers()
    vi.stubGlobal('document', { visibilityState: 'visible' })
  })
  afterEach(() => void vi.useRealTimers())

  it('share one pause, so that a page with many events makes one request at a time', async () => {
    const { events, sent } = givenPage()
    void events.track('First')
    await vi.advanceTimersByTimeAsync(100)
    for (let at = 0; at < 99; at += 1) void events.track(`Event ${at}`)
    await vi.advanceTimersByTimeAsync(1_800_000)
    expect(sent.length).toBeLessThan(25)
  })

  it('wait while one of them tries the gateway, even if that takes ten seconds', async () => {
    const { events, sent } = givenPage(10_000)
    for (let at = 0; at < 100; at += 1) void events.track(`Event ${at}`)
    await vi.advanceTimersByTimeAsync(120_000)
    const before = sent.length
    await vi.advanceTimersByTimeAsync(1_800_000)
    expect(sent.length - before).toBeLessThan(40)
  })

  it('are sent at once when one of them is answered, and each counts once', async () => {
    const { events, sent, recover } = givenPage()
    const results = Array.from({ length: 20 }, (_, at) => events.track(`Event ${at}`))
    await vi.advanceTimersByTimeAsync(600_000)
    recover()
    await vi.advanceTimersByTimeAsync(400_000)
    expect(new Set((await Promise.all(results)).map(({ outcome }) => outcome))).toEqual(new Set(['answered']))
    expect(new Set(sent).size).toBe(20)
  })

  it('are sent at once when the page is left', async () => {
    const { events, pauses, sent } = givenPage()
    for (let at = 0; at < 5; at += 1) void events.track(`Event ${at}`)
    await vi.advanceTimersByTimeAsync(600_000)
    const before = sent.length
    pauses.endAll()
    await vi.advanceTimersByTimeAsync(0)
    expect(new Set(sent.slice(before)).size).toBe(5)
  })

  it('are tried for an hour: then each is unreachable, and a new event finds room', async () => {
    const { events, sent, recover } = givenPage()
    const results = Array.from({ length: 100 }, (_, at) => events.track(`Event ${at}`))
    await vi.advanceTimersByTimeAsync(HOUR_MS - 1_000)
    expect(await events.track('Early')).toEqual({ outcome: 'unanswered', reason: 'full' })
    await vi.advanceTimersByTimeAsync(2_000)
    const before = sent.length
    const late = events.track('Late')
    recover()
    await vi.advanceTimersByTimeAsync(HOUR_MS)
    expect(await Promise.all(results)).toEqual(results.map(() => UNREACHABLE))
    expect(await late).toMatchObject({ outcome: 'answered' })
    expect(new Set(sent.slice(before)).size).toBe(1)
  })

  it.each([
    ['the page is restored hours later', 4 * HOUR_MS],
    ['the clock was set back by hours', -4 * HOUR_MS],
  ])('are not sent if %s, even when their pause is ended', async (_case, passedMs) => {
    const { events, pauses, sent } = givenPage()
    const results = Array.from({ length: 5 }, (_, at) => events.track(`Event ${at}`))
    await vi.advanceTimersByTimeAsync(60_000)
    const before = sent.length
    vi.setSystemTime(Date.now() + passedMs)
    pauses.endAll()
    await vi.advanceTimersByTimeAsync(0)
    expect(await Promise.all(results)).toEqual(results.map(() => UNREACHABLE))
    expect(sent).toHaveLength(before)
  })

  it('with a value that is not JSON are refused, naming it', async () => {
    const message = 'properties.score must be a finite number, not NaN'
    expect(await givenPage().events.track('Rated', { score: Number.NaN })).toEqual({
      outcome: 'refused',
      status: 0,
      message,
    })
  })
})

/** Creates the events of a page whose user is identified. */
function givenPage(latencyMs = 0) {
  const store = createStore('test:')
  const pauses = createPauses()
  const backoff = createBackoff(store, pauses)
  let isDown = true
  const sent: string[] = []
  const respond = async ({ key }: Parameters<Send>[0]) => {
    sent.push(key)
    if (latencyMs > 0) await new Promise((resolve) => setTimeout(resolve, latencyMs))
    return isDown ? { outcome: 'failed', retryAfterMs: 0 } : { outcome: 'answered', answer: { message: 'ok' } }
  }
  const events = createEvents({
    user: { userName: 'ada' },
    send: backoff.counting(respond as Send),
    backoff,
    store,
    pauses,
    isClosed: () => false,
    identified: Promise.resolve(),
  })
  return { events, pauses, store, sent, recover: () => void (isDown = false) }
}
