import * as fc from 'fast-check'
import { afterEach, beforeEach, describe, expect, it, onTestFinished, vi } from 'vitest'
import { type CallQueue, createCallQueue } from './call-queue.ts'
import type { CallItem, NextvisitError } from './nextvisit-error.ts'
import type { Attempt, SendRequest } from './request.ts'

/** Deadline that no test reaches. */
const DEADLINE_MS = 2 ** 31 - 1

beforeEach(() => void vi.useFakeTimers())
afterEach(() => void vi.useRealTimers())

const itemsIn = (body: Uint8Array = new Uint8Array()) =>
  (JSON.parse(Buffer.from(body).toString()) as { readonly items: readonly CallItem[] }).items
const stepOf = (item: CallItem) => (item.type === 'track' ? item.eventName : 'identify')
const refusal = (status: number) => ({ status, error: 'Error', message: 'No' })
const failed: Attempt = { outcome: 'failed', retryAfterMs: 0, cause: new Error('No answer') }
const answered = (status: number, body: object): Attempt => ({ outcome: 'answered', status, body: { ...body } })

function givenQueue(sendRequest: SendRequest, maxBatchDelayMs = 10): CallQueue {
  const limits = { deadlineMs: DEADLINE_MS, maxQueued: 10_000, maxQueuedBytes: Infinity, maxBatchDelayMs }
  return createCallQueue({ sendRequest, ...limits, onRefused: () => undefined })
}

/** `late`: refused with a retryable status, and not recorded. `unheard`: the same, but recorded. */
type ItemFate = 'recorded' | 'late' | 'unheard' | 'running' | 'refused'
type RequestFate = { readonly items: readonly ItemFate[] } | 'lost' | 'cut' | 'busy' | 'too-large'
const fateOfRequest: fc.Arbitrary<RequestFate> = fc.oneof(
  fc.constantFrom('lost' as const, 'cut' as const, 'busy' as const, 'too-large' as const),
  fc.record({ items: fc.array(fc.constantFrom<ItemFate>('recorded', 'late', 'unheard', 'running', 'refused')) }),
)

/** Simulates a gateway that keeps only the promises of decisions.md, Batch, and otherwise behaves as badly as possible. */
function givenGateway(fates: readonly RequestFate[], latenciesMs: readonly number[]) {
  const recorded: CallItem[] = []
  const refusedKeys = new Set<string>()
  const usersUnderWay: string[] = []
  let requests = 0
  const isRecorded = (item: CallItem) => recorded.some(({ idempotencyKey }) => idempotencyKey === item.idempotencyKey)

  function resultOf(item: CallItem, fate: ItemFate): object {
    if (isRecorded(item)) return { status: 202 }
    if (fate === 'refused') refusedKeys.add(item.idempotencyKey)
    if (fate === 'refused') return refusal(404)
    if (fate === 'recorded' || fate === 'unheard') recorded.push(item)
    if (fate === 'recorded') return { status: 202 }
    return refusal(fate === 'running' ? 409 : 503)
  }

  /** Returns the results of items. After an item that must be sent again, later items of its user are not recorded. */
  function resultsOf(items: readonly CallItem[], fateOfItem: readonly ItemFate[]): readonly object[] {
    const held = new Set<string>()
    return items.map((item, index) => {
      const fate = held.has(item.userName) ? 'late' : (fateOfItem[index] ?? 'recorded')
      const result = resultOf(item, fate)
      if ('message' in result && fate !== 'refused') held.add(item.userName)
      return result
    })
  }

  function answer(items: readonly CallItem[], fate: RequestFate): Attempt {
    if (fate === 'cut' || fate === 'busy') return failed
    if (fate === 'too-large') return answered(413, refusal(413))
    const results = resultsOf(items, fate === 'lost' ? [] : fate.items)
    return fate === 'lost' ? failed : answered(200, { results })
  }

  const sendRequest: SendRequest = async ({ body }) => {
    const items = itemsIn(body)
    const users = [...new Set(items.map(({ userName }) => userName))]
    for (const userName of users) expect(usersUnderWay).not.toContain(userName)
    usersUnderWay.push(...users)
    const fate = fates[requests] ?? { items: [] }
    const latencyMs = latenciesMs[requests] ?? 0
    requests += 1
    await new Promise((resolve) => setTimeout(resolve, latencyMs))
    for (const userName of users) usersUnderWay.splice(usersUnderWay.indexOf(userName), 1)
    // A single item that is too large for a proxy is the caller's fault.
    return answer(items, fate === 'too-large' && items.length === 1 ? { items: [] } : fate)
  }
  return { sendRequest, recorded, refusedKeys }
}

describe('the calls of a user', () => {
  it('are recorded in order, each once, despite any failure before the log', async () => {
    const call = fc.record({
      userName: fc.constantFrom('ada', 'grace', 'joan'),
      pauseMs: fc.constantFrom(0, 0, 15, 400),
    })
    await fc.assert(
      fc.asyncProperty(
        fc.array(call, { maxLength: 25 }),
        fc.array(fateOfRequest, { maxLength: 12 }),
        fc.array(fc.integer({ min: 1, max: 3_000 }), { maxLength: 12 }),
        async (calls, fates, latenciesMs) => {
          const { sendRequest, recorded, refusedKeys } = givenGateway(fates, latenciesMs)
          const queue = givenQueue(sendRequest)
          const results: Promise<object>[] = []
          for (const [step, { userName, pauseMs }] of calls.entries()) {
            await vi.advanceTimersByTimeAsync(pauseMs)
            results.push(queue.add('track', { userName, eventName: String(step), idempotencyKey: String(step) }))
          }
          await vi.runAllTimersAsync()

          const isRefused = (step: number) => refusedKeys.has(String(step))
          expect(await Promise.all(results)).toMatchObject(
            calls.map((_, step) => ({ status: isRefused(step) ? 404 : 202 })),
          )
          for (const user of ['ada', 'grace', 'joan']) {
            const made = calls.flatMap(({ userName }, step) =>
              userName === user && !isRefused(step) ? [String(step)] : [],
            )
            expect(recorded.filter(({ userName }) => userName === user).map(stepOf)).toEqual(made)
          }
        },
      ),
      { numRuns: 300 },
    )
  })

  it('are sent in one batch, including those that must be sent again', async () => {
    const requests: string[][] = []
    const queue = givenQueue(async ({ body }) => {
      const items = itemsIn(body)
      requests.push(items.map(stepOf))
      const isLate = requests.length === 1
      return answered(200, { results: items.map((_, index) => (isLate && index > 0 ? refusal(503) : { status: 202 })) })
    })
    const results = ['a', 'b', 'c'].map((eventName) => queue.add('track', { userName: 'ada', eventName }))
    await vi.runAllTimersAsync()
    expect(await Promise.all(results)).toMatchObject([{ status: 202 }, { status: 202 }, { status: 202 }])
    expect(requests).toEqual([
      ['a', 'b', 'c'],
      ['b', 'c'],
    ])
  })
})

describe('batches that were too large', () => {
  it('double in size each minute', async () => {
    const proxyLimit = 2_000
    let limit = proxyLimit
    const bytes: number[] = []
    const queue = givenQueue(async ({ body }) => {
      const { length = 0 } = body ?? {}
      bytes.push(length)
      if (length > limit) return answered(413, refusal(413))
      return answered(200, { results: itemsIn(body).map(() => ({ status: 202 })) })
    }, 0)
    /** Sends 100 calls, and returns the sizes of their batches. */
    const sendMany = async (): Promise<readonly number[]> => {
      bytes.length = 0
      const calls = Array.from({ length: 100 }, () => queue.add('track', { userName: 'ada', eventName: 'a' }))
      // Advances less than a minute, so batches do not grow meanwhile.
      await vi.advanceTimersByTimeAsync(100)
      await Promise.all(calls)
      return [...bytes]
    }
    const whole = Math.max(...(await sendMany()))
    expect(whole).toBeGreaterThan(4 * proxyLimit)
    const small = Math.max(...(await sendMany()))
    expect(small).toBeLessThanOrEqual(proxyLimit)
    limit = Infinity
    const sizes = []
    for (let minute = 0; minute < 5; minute += 1) {
      await vi.advanceTimersByTimeAsync(60_000)
      sizes.push(Math.max(...(await sendMany())))
    }
    expect(sizes).toEqual(sizes.toSorted((a, b) => a - b))
    expect(sizes[0]).toBeLessThanOrEqual(2 * proxyLimit)
    expect([sizes[0]! > small, sizes.at(-1)]).toEqual([true, whole])
  })
})

it('the errors of unanswered calls hold their JSON, which takes less memory, until their items are read', async () => {
  const queue = givenQueue(() => new Promise(() => {}))
  const calls = Array.from({ length: 100 }, (_, at) => queue.add('track', { userName: `${at}`, eventName: 'a' }))
  const parse = vi.spyOn(JSON, 'parse')
  onTestFinished(() => parse.mockRestore())
  const errors = Promise.all([...calls, queue.close(1_000)].map((one) => one.catch((error: unknown) => error)))
  await vi.advanceTimersByTimeAsync(1_000)
  const [first, ...others] = (await errors) as readonly NextvisitError[]
  expect(parse).not.toHaveBeenCalled()
  expect(first).toMatchObject({ code: 'UNANSWERED', items: [{ userName: '0' }] })
  expect(others.at(-1)).toMatchObject({ code: 'UNSENT', items: { length: 100 } })
})
