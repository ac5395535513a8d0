import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import type { CallFunction } from './calls.ts'
import { createBatchedCall } from './batched-call.ts'

const shortly = () => performance.now() + 200
const soon = () => performance.now() + 60_000

/** Creates a service that answers when the spec lets it, and the list of its calls. */
function heldService() {
  const calls: { questions: readonly number[]; answer: (answers: readonly number[]) => void; fail: () => void }[] = []
  const ask: CallFunction<{ questions: number[] }, { answers: number[] }> = ({ questions }) =>
    new Promise((resolve) => {
      calls.push({
        questions,
        answer: (answers) => resolve({ outcome: 'answered', answer: { answers: [...answers] } }),
        fail: () => resolve({ outcome: 'unavailable', cause: new Error('unavailable') }),
      })
    })
  return { calls, ask }
}

const tenantOf = () => 'acme'

/** Answers a call with its own questions, and waits for the effects. */
async function answerNext(calls: ReturnType<typeof heldService>['calls'], index: number): Promise<void> {
  calls[index]?.answer(calls[index].questions)
  await new Promise(setImmediate)
}

describe('a batched call (design.md, Calls to services)', () => {
  it('asks the first question at once, and all that arrive meanwhile in the next call', async () => {
    const { calls, ask } = heldService()
    const call = createBatchedCall(ask, { tenantOf })
    const answers = [1, 2, 3].map((question) => call(question, soon()))
    expect(calls.map(({ questions }) => questions)).toEqual([[1]])
    calls[0]?.answer([10])
    expect(await answers[0]).toEqual({ outcome: 'answered', answer: 10 })
    await new Promise(setImmediate)
    expect(calls.map(({ questions }) => questions)).toEqual([[1], [2, 3]])
    calls[1]?.answer([20, 30])
    expect(await Promise.all(answers.slice(1))).toMatchObject([{ answer: 20 }, { answer: 30 }])
  })

  it('lets equal questions share an answer, but never joins a call that has begun', async () => {
    const { calls, ask } = heldService()
    const call = createBatchedCall(ask, { tenantOf, keyOf: String })
    const answers = [7, 7, 7, 8].map((question) => call(question, soon()))
    calls[0]?.answer([1])
    await new Promise(setImmediate)
    expect(calls.map(({ questions }) => questions)).toEqual([[7], [7, 8]])
    calls[1]?.answer([2, 3])
    expect(await Promise.all(answers)).toMatchObject([{ answer: 1 }, { answer: 2 }, { answer: 2 }, { answer: 3 }])
  })

  it('is unavailable for the questions of a failed call, and continues with the next', async () => {
    const { calls, ask } = heldService()
    const call = createBatchedCall(ask, { tenantOf })
    const answers = [1, 2].map((question) => call(question, soon()))
    calls[0]?.fail()
    expect(await answers[0]).toEqual({ outcome: 'unavailable' })
    await new Promise(setImmediate)
    calls[1]?.answer([])
    expect(await answers[1]).toEqual({ outcome: 'unavailable' })
    const last = call(3, soon())
    await new Promise(setImmediate)
    calls[2]?.answer([30])
    expect(await last).toMatchObject({ answer: 30 })
  })

  it('gives up at the deadline, and does not send expired questions', async () => {
    const { calls, ask } = heldService()
    const call = createBatchedCall(ask, { tenantOf })
    const first = call(1, soon())
    expect(await call(2, performance.now() + 5)).toEqual({ outcome: 'unavailable' })
    expect(await call(3, performance.now() - 1)).toEqual({ outcome: 'unavailable' })
    calls[0]?.answer([10])
    await first
    await new Promise(setImmediate)
    expect(calls).toHaveLength(1)
  })

  it('bounds a call by work and by bytes', async () => {
    const { calls, ask } = heldService()
    const call = createBatchedCall(ask, {
      tenantOf,
      bytesOf: (n: number) => n,
      maxWeight: 2,
      maxBytes: 10,
    })
    const answers = [1, 2, 3, 4, 9, 6].map((question) => call(question, soon()))
    for (let i = 0; i < 5; i += 1) await answerNext(calls, i)
    expect(calls.map(({ questions }) => questions)).toEqual([[1], [2, 3], [4], [9], [6]])
    expect(await Promise.all(answers)).toHaveLength(6)
  })
})

const sizesIn = (calls: ReturnType<typeof heldService>['calls']) => calls.map(({ questions }) => questions.length)

/** Asks many questions at once. Each answer takes `tookMs`; `undefined`: the call fails. Returns the sizes of the calls. */
async function sizesOfCalls(...tookMs: readonly (number | undefined)[]): Promise<readonly number[]> {
  const { calls, ask } = heldService()
  const call = createBatchedCall(ask, { tenantOf, firstWeight: 10, maxWeight: 60 })
  for (let question = 0; question < 500; question += 1) void call(question, performance.now() + 60_000)
  for (const [index, ms] of tookMs.entries()) {
    vi.advanceTimersByTime(ms ?? 1_000)
    if (ms === undefined) calls[index]?.fail()
    await answerNext(calls, index)
  }
  return sizesIn(calls)
}

describe('a paced call', () => {
  beforeEach(() => void vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] }))
  afterEach(() => void vi.useRealTimers())

  it('begins small, grows while the service answers quickly, and shrinks when it does not', async () => {
    expect(await sizesOfCalls(50, 125, 100, 300, 600, 600, 600, 5)).toEqual([1, 10, 20, 50, 50, 25, 15, 15, 60])
  })

  it('begins small again after a failure', async () => {
    expect(await sizesOfCalls(5, 5, undefined, 5)).toEqual([1, 50, 60, 10, 60])
  })

  it.each([
    ['begins small again after a pause of 10 s', 10_000, [1], [1, 10]],
    ['does not after a shorter one', 9_000, [1], [1, 50]],
  ])('%s', async (_case, pauseMs, firstCall, nextCalls) => {
    const { calls, ask } = heldService()
    const call = createBatchedCall(ask, { tenantOf, firstWeight: 10, maxWeight: 60 })
    void call(0, soon())
    vi.advanceTimersByTime(5)
    await answerNext(calls, 0)
    expect(sizesIn(calls)).toEqual(firstCall)
    vi.advanceTimersByTime(pauseMs)
    for (let question = 0; question < 100; question += 1) void call(question, soon())
    // Not quick enough to grow.
    vi.advanceTimersByTime(250)
    await answerNext(calls, 1)
    expect(sizesIn(calls.slice(1))).toEqual(nextCalls)
  })

  it('takes a single question that is heavier', async () => {
    const { calls, ask } = heldService()
    const call = createBatchedCall(ask, { tenantOf, weightOf: (n: number) => n, firstWeight: 10, maxWeight: 60 })
    for (const question of [50, 59, 5, 4]) void call(question, soon())
    for (let index = 0; index < 3; index += 1) await answerNext(calls, index)
    expect(calls.map(({ questions }) => questions)).toEqual([[50], [59], [5, 4]])
  })

  it.each([
    ['crowded', 'has just been answered', { firstWeight: 10 }, 400],
    ['crowded', 'has just been answered, with no time left', { firstWeight: 10 }, 20],
    ['unavailable', 'was last answered a second ago', { firstWeight: 10 }, 1_000],
    ['unavailable', 'was last answered long ago for its service', { firstWeight: 10, silentAfterMs: 300 }, 400],
    ['unavailable', 'is not paced', {}, 400],
  ])('of a tenant makes late questions %s if it %s', async (outcome, _case, options, leftMs) => {
    const { calls, ask } = heldService()
    const call = createBatchedCall(ask, { tenantOf, ...options })
    const first = call(1, soon())
    await answerNext(calls, 0)
    await first
    const late = call(2, performance.now() + leftMs)
    vi.advanceTimersByTime(leftMs)
    expect(await late).toEqual({ outcome })
  })
})

it('a batched call reads an answer that arrived during a stall before it gives up', async () => {
  const { calls, ask } = heldService()
  const asked = createBatchedCall(ask, { tenantOf })(1, performance.now() + 60)
  setImmediate(() => calls[0]?.answer([10]))
  const stalledUntil = performance.now() + 100
  while (performance.now() < stalledUntil);
  expect(await asked).toEqual({ outcome: 'answered', answer: 10 })
})

describe('the tenants of a batched call', () => {
  const ofTenant = { tenantOf: (question: number) => String(Math.floor(question / 100)) }

  it('take turns with one question each, so that a tenant with many delays no other', async () => {
    const { calls, ask } = heldService()
    const call = createBatchedCall(ask, { ...ofTenant, maxWeight: 3, maxCalls: 1 })
    for (const question of [100, 101, 102, 103, 104, 105, 200, 300, 301]) void call(question, soon())
    for (let i = 0; i < 4; i += 1) await answerNext(calls, i)
    expect(calls.map(({ questions }) => questions)).toEqual([[100], [101, 200, 300], [102, 301, 103], [104, 105]])
  })

  it('have one call in flight each, so that a slow call delays no other tenant', async () => {
    const { calls, ask } = heldService()
    const call = createBatchedCall(ask, { ...ofTenant, maxCalls: 2 })
    for (const question of [100, 101, 200]) void call(question, soon())
    expect(calls.map(({ questions }) => questions)).toEqual([[100], [200]])
    await answerNext(calls, 1)
    const other = call(300, soon())
    await answerNext(calls, 2)
    expect(await other).toEqual({ outcome: 'answered', answer: 300 })
    expect(calls).toHaveLength(3)
    await answerNext(calls, 0)
    expect(calls[3]?.questions).toEqual([101])
  })

  it('are crowded for a question that is too heavy or too large, or when too many of theirs wait', async () => {
    const { calls, ask } = heldService()
    const weights = { weightOf: (n: number) => n % 100, bytesOf: (n: number) => n % 10 }
    const call = createBatchedCall(ask, {
      ...ofTenant,
      ...weights,
      maxWeight: 50,
      maxBytes: 8,
      maxWaiting: 2,
    })
    expect(await call(151, soon())).toEqual({ outcome: 'crowded' })
    expect(await call(109, soon())).toEqual({ outcome: 'crowded' })
    for (const question of [100, 101, 102]) void call(question, soon())
    expect(await call(103, soon())).toEqual({ outcome: 'crowded' })
    expect(calls).toHaveLength(1)
    void call(200, soon())
    expect(calls).toHaveLength(2)
  })

  it('are crowded at the deadline if their own calls are answered, and unavailable if none is', async () => {
    const { calls, ask } = heldService()
    const call = createBatchedCall(ask, { ...ofTenant, maxWeight: 1 })
    const [, , , passedOver] = [100, 101, 102, 103].map((question) => call(question, shortly()))
    const [inFlight, waiting] = [200, 201].map((question) => call(question, shortly()))
    await answerNext(calls, 0)
    expect(calls.map(({ questions }) => questions)).toEqual([[100], [200], [101]])
    await answerNext(calls, 2)
    expect(await Promise.all([passedOver, inFlight, waiting])).toEqual([
      { outcome: 'crowded' },
      { outcome: 'unavailable' },
      { outcome: 'unavailable' },
    ])
  })
})
