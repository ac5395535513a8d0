import RequestQueue from 'kafkajs/src/network/requestQueue/index.js'
import { afterEach, beforeEach, expect, it, vi } from 'vitest'

const TIMEOUT_MS = 5_000

beforeEach(() => void vi.useFakeTimers())
afterEach(() => {
  // In this order: restoring the spy later would reinstall the fake timer for the worker's next file.
  vi.restoreAllMocks()
  vi.useRealTimers()
})

/** The requests of one connection and their outcomes. */
function givenConnection(maxInFlightRequests?: number) {
  const logger = { debug: () => {}, warn: () => {} }
  const queue = new RequestQueue({
    requestTimeout: TIMEOUT_MS,
    enforceRequestTimeout: true,
    maxInFlightRequests,
    logger,
  })
  queue.scheduleRequestTimeoutCheck()
  const ended: string[] = []
  return {
    ended,
    send: (correlationId: number, requestTimeout?: number) => {
      const resolve = (): void => void ended.push(`${correlationId} answered`)
      const reject = ({ name }: Error): void => void ended.push(`${correlationId} ${name}`)
      queue.push({
        entry: { correlationId, resolve, reject },
        expectResponse: true,
        sendRequest: () => {},
        requestTimeout,
      })
    },
    answer: (correlationId: number) => queue.fulfillRequest({ correlationId, payload: Buffer.of(), size: 0 }),
    close: () => queue.destroy(),
  }
}

it('each request times out after its own timeout', () => {
  const { send, answer, ended } = givenConnection()
  send(1)
  vi.advanceTimersByTime(1_000)
  send(2)
  send(3)
  vi.advanceTimersByTime(1_000)
  answer(2)
  vi.advanceTimersByTime(TIMEOUT_MS - 2_000)
  expect(ended).toEqual(['2 answered'])
  vi.advanceTimersByTime(10)
  expect(ended).toEqual(['2 answered', '1 KafkaJSRequestTimeoutError'])
  vi.advanceTimersByTime(1_000)
  expect(ended).toEqual(['2 answered', '1 KafkaJSRequestTimeoutError', '3 KafkaJSRequestTimeoutError'])
})

it('a request times out before an earlier one with a longer timeout', () => {
  const { send, ended } = givenConnection()
  send(1, 60_000)
  vi.advanceTimersByTime(TIMEOUT_MS + 1_000)
  send(2)
  vi.advanceTimersByTime(TIMEOUT_MS + 10)
  expect(ended).toEqual(['2 KafkaJSRequestTimeoutError'])
})

it('a request times out on time although a queued request replaces a timed-out one', () => {
  const { send, ended } = givenConnection(2)
  send(1)
  vi.advanceTimersByTime(1_000)
  send(2)
  send(3)
  vi.advanceTimersByTime(TIMEOUT_MS + 10)
  expect(ended).toEqual(['1 KafkaJSRequestTimeoutError', '2 KafkaJSRequestTimeoutError'])
})

// Unpatched, kafkajs checks each connection every 100 ms, which keeps waking an idle process.
it('no timer runs without requests in flight, and few run with some', () => {
  const { send, answer, close } = givenConnection()
  expect(vi.getTimerCount()).toBe(0)
  send(1)
  answer(1)
  vi.advanceTimersByTime(TIMEOUT_MS + 10)
  expect(vi.getTimerCount()).toBe(0)
  const setTimer = vi.spyOn(globalThis, 'setTimeout')
  for (let nth = 2; nth < 32; nth += 1) {
    send(nth)
    vi.advanceTimersByTime(1_000)
    answer(nth)
  }
  expect(setTimer.mock.calls.length).toBeLessThanOrEqual(6)
  close()
  expect(vi.getTimerCount()).toBe(0)
})
