import { describe, expect, it } from 'vitest'
import { createBatchedCall } from './batched-call.ts'

const soon = () => performance.now() + 60_000

/** A service that answers only when told to; says what each call asked. */
function heldService() {
  const calls: { questions: readonly number[]; answer: (answers: readonly number[]) => void; fail: () => void }[] = []
  const ask = (questions: readonly number[]) =>
    new Promise<readonly number[]>((resolve, reject) => {
      calls.push({ questions, answer: resolve, fail: () => reject(new Error('away')) })
    })
  return { calls, ask }
}

describe('a batched call (design.md, A track event: one in flight for each service)', () => {
  it('asks at once, and everything that arrives meanwhile in the next call', async () => {
    const { calls, ask } = heldService()
    const call = createBatchedCall({ ask })
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
    const call = createBatchedCall({ ask, keyOf: String })
    const answers = [7, 7, 7, 8].map((question) => call(question, soon()))
    calls[0]?.answer([1])
    await new Promise(setImmediate)
    expect(calls.map(({ questions }) => questions)).toEqual([[7], [7, 8]])
    calls[1]?.answer([2, 3])
    expect(await Promise.all(answers)).toMatchObject([{ answer: 1 }, { answer: 2 }, { answer: 2 }, { answer: 3 }])
  })

  it('is away for those that it asked in vain, and goes on', async () => {
    const { calls, ask } = heldService()
    const call = createBatchedCall({ ask })
    const answers = [1, 2].map((question) => call(question, soon()))
    calls[0]?.fail()
    expect(await answers[0]).toEqual({ outcome: 'away' })
    await new Promise(setImmediate)
    calls[1]?.answer([])
    expect(await answers[1]).toEqual({ outcome: 'away' })
    const last = call(3, soon())
    await new Promise(setImmediate)
    calls[2]?.answer([30])
    expect(await last).toMatchObject({ answer: 30 })
  })

  it('gives up at the deadline, and no longer asks what nobody waits for', async () => {
    const { calls, ask } = heldService()
    const call = createBatchedCall({ ask })
    const first = call(1, soon())
    expect(await call(2, performance.now() + 5)).toEqual({ outcome: 'away' })
    expect(await call(3, performance.now() - 1)).toEqual({ outcome: 'away' })
    calls[0]?.answer([10])
    await first
    await new Promise(setImmediate)
    expect(calls).toHaveLength(1)
  })

  it('bounds a call by number and by bytes, and what waits', async () => {
    const { calls, ask } = heldService()
    const call = createBatchedCall({ ask, bytesOf: (n: number) => n, maxBatch: 2, maxBatchBytes: 10, maxWaiting: 5 })
    const answers = [1, 2, 3, 4, 50, 6, 7].map((question) => call(question, soon()))
    for (let i = 0; i < 5; i += 1) {
      calls[i]?.answer(calls[i]?.questions ?? [])
      await new Promise(setImmediate)
    }
    expect(calls.map(({ questions }) => questions)).toEqual([[1], [2, 3], [4], [50], [6]])
    expect((await Promise.all(answers)).at(-1)).toEqual({ outcome: 'away' })
  })
})
