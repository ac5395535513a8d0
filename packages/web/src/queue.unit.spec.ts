import type { AnswerStatus, FormAnswer } from '@nextvisit/contracts/shown-form'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { createBackoff } from './backoff.ts'
import { createPauses } from './pauses.ts'
import { createQueue } from './queue.ts'
import type { Result } from './result.ts'
import type { Send } from './send.ts'
import { createStore } from './store.ts'

const HOUR_MS = 3_600_000
const UNREACHABLE = { outcome: 'unanswered', reason: 'unreachable' }
const REPLACED = { outcome: 'unanswered', reason: 'replaced' }

afterEach(() => vi.unstubAllGlobals())

describe('an item of an earlier page', () => {
  it.each([
    ['an event made 59 minutes ago is sent for one more minute', 'event', 59 * 60_000, 1],
    ['an event made more than an hour ago is removed without an attempt', 'event', HOUR_MS + 1, 0],
    ['an answer given 22:59 hours ago is sent for one more minute', 'answers', 23 * HOUR_MS - 60_000, 1],
    ['an answer given more than 23 hours ago is removed without an attempt', 'answers', 23 * HOUR_MS + 1, 0],
  ])('%s', async (_case, kind, ageMs, attempts) => {
    vi.useFakeTimers()
    vi.stubGlobal('document', { visibilityState: 'visible' })
    const { queue, store, sent } = givenPage()
    const key = `${Date.now() - ageMs}-1`
    store.set(`${kind}:${key}`, JSON.stringify(kind === 'event' ? { eventName: 'Left' } : answerOf(9)))
    store.set('retry', `${Date.now()} 30000 9`)
    queue.sendLeftovers()
    await vi.advanceTimersByTimeAsync(61_000)
    expect([...store.names('answers'), ...store.names('event')]).toEqual([])
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
    const { queue, sent } = givenPage()
    void queue.track('First')
    await vi.advanceTimersByTimeAsync(100)
    for (let at = 0; at < 99; at += 1) void queue.track(`Event ${at}`)
    await vi.advanceTimersByTimeAsync(1_800_000)
    expect(sent.length).toBeLessThan(25)
  })

  it('wait while one of them tries the gateway, even if that takes ten seconds', async () => {
    const { queue, sent } = givenPage(10_000)
    for (let at = 0; at < 100; at += 1) void queue.track(`Event ${at}`)
    await vi.advanceTimersByTimeAsync(120_000)
    const before = sent.length
    await vi.advanceTimersByTimeAsync(1_800_000)
    expect(sent.length - before).toBeLessThan(40)
  })

  it('are sent at once when one of them is answered, and each counts once', async () => {
    const { queue, sent, recover } = givenPage()
    const results = Array.from({ length: 20 }, (_, at) => queue.track(`Event ${at}`))
    await vi.advanceTimersByTimeAsync(600_000)
    recover()
    await vi.advanceTimersByTimeAsync(400_000)
    expect(new Set((await Promise.all(results)).map(({ outcome }) => outcome))).toEqual(new Set(['answered']))
    expect(new Set(sent).size).toBe(20)
  })

  it('are sent at once when the page is left', async () => {
    const { queue, pauses, sent } = givenPage()
    for (let at = 0; at < 5; at += 1) void queue.track(`Event ${at}`)
    await vi.advanceTimersByTimeAsync(600_000)
    const before = sent.length
    pauses.endAll(true)
    await vi.advanceTimersByTimeAsync(0)
    expect(new Set(sent.slice(before)).size).toBe(5)
  })

  it('are tried for an hour: then each is unreachable, and a new event finds room', async () => {
    const { queue, sent, recover } = givenPage()
    const results = Array.from({ length: 100 }, (_, at) => queue.track(`Event ${at}`))
    await vi.advanceTimersByTimeAsync(HOUR_MS - 1_000)
    expect(await queue.track('Early')).toEqual({ outcome: 'unanswered', reason: 'full' })
    await vi.advanceTimersByTimeAsync(2_000)
    const before = sent.length
    const late = queue.track('Late')
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
    const { queue, pauses, sent } = givenPage()
    const results = Array.from({ length: 5 }, (_, at) => queue.track(`Event ${at}`))
    await vi.advanceTimersByTimeAsync(60_000)
    const before = sent.length
    vi.setSystemTime(Date.now() + passedMs)
    pauses.endAll(true)
    await vi.advanceTimersByTimeAsync(0)
    expect(await Promise.all(results)).toEqual(results.map(() => UNREACHABLE))
    expect(sent).toHaveLength(before)
  })

  it('with a value that is not JSON are refused, naming it', async () => {
    const message = 'properties.score must be a finite number, not NaN'
    expect(await givenPage().queue.track('Rated', { score: Number.NaN })).toEqual({
      outcome: 'refused',
      status: 0,
      message,
    })
  })
})

describe('an event or answer without an answer of the gateway', () => {
  it('is stored at once, without the user, because the page may end at any moment', async () => {
    vi.stubGlobal('document', { visibilityState: 'visible' })
    const { queue, store } = givenPage()
    void queue.track('Left')
    void queue.answer(answerOf(9))
    const values = store.names('').map((name) => [name.split(':')[0], JSON.parse(store.get(name) ?? '')])
    expect(values).toEqual([
      ['answers', answerOf(9)],
      ['event', { eventName: 'Left' }],
    ])
  })
})

describe('answers', () => {
  beforeEach(() => {
    vi.useFakeTimers()
    vi.stubGlobal('document', { visibilityState: 'visible' })
  })
  afterEach(() => {
    vi.useRealTimers()
    vi.restoreAllMocks()
  })
  it('are sent in the order of the calls, one request after the other, also within one millisecond', async () => {
    const { queue, bodies, recover } = givenPage(100)
    recover()
    for (const score of [1, 2, 3]) void queue.answer(answerOf(score))
    await vi.advanceTimersByTimeAsync(50)
    expect(scores(bodies)).toEqual([1])
    await vi.advanceTimersByTimeAsync(1_000)
    expect(scores(bodies)).toEqual([1, 2, 3])
    expect(bodies[0]).toEqual({ userName: 'ada', ...answerOf(1) })
  })

  it('keep their order at the end of an outage', async () => {
    const { queue, bodies, sent, most, recover } = givenPage(100)
    const results = Array.from({ length: 9 }, (_, at) => queue.answer(answerOf(at)))
    await vi.advanceTimersByTimeAsync(60_000)
    expect(new Set(sent).size).toBe(1)
    recover()
    await vi.advanceTimersByTimeAsync(400_000)
    expect(new Set((await Promise.all(results)).map(({ outcome }) => outcome))).toEqual(new Set(['answered']))
    expect(scores(bodies.slice(-9))).toEqual([0, 1, 2, 3, 4, 5, 6, 7, 8])
    expect(most.atOnce).toBe(1)
    expect(new Set(sent).size).toBe(9)
  })

  it('of an earlier page are sent first, under their keys', async () => {
    const left = givenPage()
    for (const score of [1, 2, 3, 4, 5, 6]) void left.queue.answer(answerOf(score))
    left.pauses.endAll(true)
    await vi.advanceTimersByTimeAsync(0)
    const next = givenPage(100, left.store)
    next.recover()
    next.queue.sendLeftovers()
    void next.queue.answer(answerOf(7))
    await vi.advanceTimersByTimeAsync(400_000)
    expect(scores(next.bodies)).toEqual([1, 2, 3, 4, 5, 6, 7])
    expect(new Set(next.sent.slice(0, 6))).toEqual(new Set(left.sent))
    expect(left.store.names('answers')).toEqual([])
  })

  it('are all sent at once when the page is left', async () => {
    const { queue, pauses, sent } = givenPage()
    for (const score of [1, 2, 3]) void queue.answer(answerOf(score))
    await vi.advanceTimersByTimeAsync(60_000)
    sent.length = 0
    pauses.endAll(true)
    await vi.advanceTimersByTimeAsync(0)
    expect(new Set(sent).size).toBe(3)
  })

  it('leave no timer behind once all are sent', async () => {
    const { queue, recover } = givenPage(100)
    recover()
    const results = [1, 2, 3].map((score) => queue.answer(answerOf(score)))
    await vi.advanceTimersByTimeAsync(1_000)
    expect(await Promise.all(results)).toMatchObject(results.map(() => ({ outcome: 'answered' })))
    expect(vi.getTimerCount()).toBe(0)
  })

  it('that are refused are removed and reported, and those after them are sent', async () => {
    const warned = vi.spyOn(console, 'warn').mockImplementation(() => {})
    const refusal = { outcome: 'refused', status: 400, message: 'answers.score must be a whole number' } as const
    const { queue, store, bodies } = givenPage(0, undefined, (body) =>
      body.includes('99') ? refusal : { outcome: 'answered', answer: { message: 'ok' } },
    )
    const results = [queue.answer(answerOf(99)), queue.answer(answerOf(1))]
    expect(await Promise.all(results)).toMatchObject([refusal, { outcome: 'answered' }])
    expect(scores(bodies)).toEqual([99, 1])
    expect(store.names('answers')).toEqual([])
    expect(warned.mock.calls).toEqual([['Nextvisit', refusal]])
  })

  it('find room beside 100 waiting events', async () => {
    const { queue, recover } = givenPage()
    for (let at = 0; at < 100; at += 1) void queue.track(`Event ${at}`)
    expect(await queue.track('One more')).toEqual({ outcome: 'unanswered', reason: 'full' })
    const answered = queue.answer(answerOf(9))
    recover()
    await vi.advanceTimersByTimeAsync(10_000)
    expect(await answered).toMatchObject({ outcome: 'answered' })
  })

  it('that wait are replaced by later ones to their offer, also when the page is left', async () => {
    const { queue, pauses, store, bodies } = givenPage()
    const results = [
      queue.answer(answerOf(1, 'a')),
      queue.answer(answerOf(2, 'b')),
      queue.answer(answerOf(3, 'a')),
      queue.answer(answerOf(4, 'a')),
    ]
    expect(store.names('answers').map((name) => JSON.parse(store.get(name) ?? '') as object)).toEqual([
      answerOf(2, 'b'),
      answerOf(4, 'a'),
    ])
    pauses.endAll(true)
    await vi.advanceTimersByTimeAsync(0)
    expect(new Set(scores(bodies))).toEqual(new Set([2, 4]))
    expect(await Promise.all([results[0], results[2]])).toEqual([REPLACED, REPLACED])
  })

  it('in flight are not sent again after a later one to their offer', async () => {
    const { queue, pauses, bodies, recover } = givenPage(100)
    const first = queue.answer(answerOf(1, 'a'))
    await vi.advanceTimersByTimeAsync(50)
    const second = queue.answer(answerOf(2, 'a'))
    pauses.endAll(true)
    await vi.advanceTimersByTimeAsync(0)
    expect(scores(bodies)).toEqual([1, 2])
    await vi.advanceTimersByTimeAsync(70)
    recover()
    await vi.advanceTimersByTimeAsync(60_000)
    expect(await Promise.all([first, second])).toMatchObject([REPLACED, { outcome: 'answered' }])
    expect(scores(bodies).slice(2)).not.toContain(1)
  })

  it('of a tab are not sent by another one that found them, once a later one to their offer is given', async () => {
    const tab = givenPage()
    void tab.queue.answer(answerOf(1, 'a'))
    await vi.advanceTimersByTimeAsync(100)
    const other = givenPage(0, tab.store)
    other.queue.sendLeftovers()
    tab.recover()
    other.recover()
    const finished = tab.queue.answer(answerOf(2, 'a', 'finished'))
    await vi.advanceTimersByTimeAsync(60_000)
    expect(await finished).toMatchObject({ outcome: 'answered' })
    expect(scores(other.bodies)).not.toContain(1)
  })

  it.each([
    ['a dismissed answer without them', {}, 'dismissed'],
    ['a partial one with another element', { reason: 'Slow' }, 'partial'],
    ['a finished one whose value is undefined', { score: undefined, reason: 'Slow' }, 'finished'],
  ] as const)('that wait are not replaced by %s, and are sent first', async (_case, answers, status) => {
    const { queue, bodies, recover } = givenPage()
    const first = queue.answer(answerOf(9, 'a'))
    const second = queue.answer({ ...answerOf(0, 'a', status), answers } as FormAnswer)
    await vi.advanceTimersByTimeAsync(100)
    recover()
    await vi.advanceTimersByTimeAsync(60_000)
    expect(await Promise.all([first, second])).toMatchObject([{ outcome: 'answered' }, { outcome: 'answered' }])
    expect(bodies.at(-2)).toMatchObject({ answers: { score: 9 } })
    expect(bodies.at(-1)).toMatchObject({ status, answers: JSON.parse(JSON.stringify(answers)) as object })
  })

  it('that the page removed from the storage are sent: no later answer replaced them', async () => {
    const { queue, store, bodies, recover } = givenPage()
    const result = queue.answer(answerOf(9, 'a'))
    await vi.advanceTimersByTimeAsync(100)
    for (const name of store.names('')) store.take(name)
    recover()
    await vi.advanceTimersByTimeAsync(60_000)
    expect(await result).toMatchObject({ outcome: 'answered' })
    expect(scores(bodies).at(-1)).toBe(9)
  })

  it('are replaced by later ones also if the clock was set back since', async () => {
    const { queue, store, bodies, recover } = givenPage()
    store.set(`answers:${Date.now() + HOUR_MS}-1:a:partial`, JSON.stringify(answerOf(1, 'a')))
    recover()
    queue.sendLeftovers()
    void queue.answer(answerOf(2, 'a'))
    await vi.advanceTimersByTimeAsync(60_000)
    expect(scores(bodies)).not.toContain(1)
    expect(scores(bodies)).toContain(2)
  })

  it('of earlier pages do not replace each other, because their keys may not tell their order', async () => {
    const { queue, store, bodies, recover } = givenPage()
    store.set(`answers:${Date.now() - 2}-1:a:partial`, JSON.stringify(answerOf(2, 'a')))
    store.set(`answers:${Date.now() - 1}-1:a:partial`, JSON.stringify(answerOf(1, 'a')))
    recover()
    queue.sendLeftovers()
    await vi.advanceTimersByTimeAsync(60_000)
    expect(scores(bodies)).toEqual([2, 1])
  })

  it.each(['finished', 'dismissed'] as const)('that ended a form as %s are not replaced', async (status) => {
    const { queue, store, bodies, recover } = givenPage(100)
    recover()
    void queue.answer(answerOf(1, 'a'))
    void queue.answer(answerOf(2, 'a', status))
    void queue.answer(answerOf(3, 'a'))
    expect(store.names('answers')).toHaveLength(2)
    await vi.advanceTimersByTimeAsync(1_000)
    expect(scores(bodies)).toEqual([2, 3])
  })

  it('with a value that is not JSON are refused, naming it', async () => {
    expect(await givenPage().queue.answer(answerOf(Number.NaN))).toMatchObject({
      status: 0,
      message: 'answers.score must be a finite number, not NaN',
    })
  })
})

function scores(bodies: readonly { readonly answers?: { readonly score?: number } }[]) {
  return bodies.map(({ answers }) => answers?.score)
}

/** Returns a partial answer to an offer of its own, or to the given one. */
function answerOf(score: number, offerId = `offer-${score}`, status: AnswerStatus = 'partial') {
  return { offerId, formId: 'nps', revision: 3, answers: { score }, status }
}

type Response =
  | { readonly outcome: 'failed'; readonly retryAfterMs: number }
  | Exclude<Result<object>, { readonly outcome: 'unanswered' }>

/** Creates the queue of a page whose user is identified. `respond` answers each body; by default, after `recover`. */
function givenPage(latencyMs = 0, store = createStore('test:'), respond?: (body: string) => Response) {
  const pauses = createPauses()
  const backoff = createBackoff(store, pauses)
  let isDown = true
  const sent: string[] = []
  const most = { atOnce: 0 }
  let inFlight = 0
  const bodies: { readonly answers?: { readonly score?: number } }[] = []
  const byDefault = (): Response =>
    isDown ? { outcome: 'failed', retryAfterMs: 0 } : { outcome: 'answered', answer: { message: 'ok' } }
  const send = async ({ key, body }: Parameters<Send>[0]) => {
    sent.push(key)
    bodies.push(JSON.parse(body) as object)
    inFlight += 1
    most.atOnce = Math.max(most.atOnce, inFlight)
    if (latencyMs > 0) await new Promise((resolve) => setTimeout(resolve, latencyMs))
    inFlight -= 1
    return (respond ?? byDefault)(body)
  }
  const parts = {
    user: { userName: 'ada' },
    send: backoff.counting(send as Send),
    backoff,
    store,
    pauses,
    isClosed: () => false,
  }
  const queue = createQueue(parts, Promise.resolve())
  return { queue, pauses, store, sent, bodies, most, recover: () => void (isDown = false) }
}
