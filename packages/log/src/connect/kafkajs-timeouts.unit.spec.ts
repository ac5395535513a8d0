import RequestQueue from 'kafkajs/src/network/requestQueue/index.js'
import { afterEach, beforeEach, expect, it, vi } from 'vitest'

const TIMEOUT_MS = 5_000

beforeEach(() => void vi.useFakeTimers())
afterEach(() => {
  // In this order: a spy that is restored later would put the false timer back, for the next file of this worker.
  vi.restoreAllMocks()
  vi.useRealTimers()
})

/** The requests of one connection, and how each of them ended. */
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

it('times each request out at its own time', () => {
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

it('does not wait with one for another that may take longer', () => {
  const { send, ended } = givenConnection()
  send(1, 60_000)
  vi.advanceTimersByTime(TIMEOUT_MS + 1_000)
  send(2)
  vi.advanceTimersByTime(TIMEOUT_MS + 10)
  expect(ended).toEqual(['2 KafkaJSRequestTimeoutError'])
})

it('times a request out at its own time, also where another one takes the place of one that timed out', () => {
  const { send, ended } = givenConnection(2)
  send(1)
  vi.advanceTimersByTime(1_000)
  send(2)
  send(3)
  vi.advanceTimersByTime(TIMEOUT_MS + 10)
  expect(ended).toEqual(['1 KafkaJSRequestTimeoutError', '2 KafkaJSRequestTimeoutError'])
})

// kafkajs as it comes looks at each connection every 100 ms, which woke an idle process twenty times a second.
it('wakes nobody where nothing is in flight, and rarely where something is', () => {
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
