import { setTimeout as sleep } from 'node:timers/promises'
import { createHttpConnection, type HttpAnswer, type HttpConnection } from './http-connection.ts'
import { percentile } from '../percentile.ts'

interface Load {
  readonly url: string
  /** Returns the bytes of the next request. */
  readonly next: () => Buffer
  readonly seconds: number
  /** Requests per second, evenly spaced regardless of answers; absent: each connection sends as soon as it has an answer. */
  readonly perSecond?: number | undefined
  readonly connections?: number
  readonly onAnswer?: (answer: HttpAnswer) => void
}

export interface LoadResult {
  /** Number of requests with a 2xx answer. */
  readonly answered: number
  /** Number of other requests: refused, broken, unanswered, or unsent when the load ended. */
  readonly failed: number
  readonly seconds: number
  readonly p50Ms: number
  readonly p99Ms: number
}

const CONNECTIONS = 64
/** Timeout of the last answers in ms, longer than the gateway may take. */
const LAST_ANSWERS_WITHIN_MS = 5_000

/** Loads a server from this process over persistent connections, and measures the latency of each answer. */
export async function runLoad(load: Load): Promise<LoadResult> {
  const { url, next, seconds, perSecond, connections: count = CONNECTIONS, onAnswer } = load
  const connections = Array.from({ length: count }, () => createHttpConnection(url))
  const tookMs: number[] = []
  let sent = 0
  let failed = 0
  let isOver = false

  const send = (connection: HttpConnection, dueAt: number, whenAnswered: () => void): void => {
    sent += 1
    connection.send(next(), (answer) => {
      const { status = 0 } = answer
      if (status >= 200 && status < 300) tookMs.push(performance.now() - dueAt)
      else failed += 1
      onAnswer?.(answer)
      whenAnswered()
    })
  }

  const beganAt = performance.now()
  const begin = perSecond === undefined ? asFastAsAnswered : spaced(perSecond)
  const countUnsent = begin(connections, send, () => isOver)
  await sleep(seconds * 1_000)
  isOver = true
  const tookSeconds = (performance.now() - beganAt) / 1_000
  const until = performance.now() + LAST_ANSWERS_WITHIN_MS
  while (tookMs.length + failed < sent && performance.now() < until) await sleep(5)
  for (const connection of connections) connection.close()
  return {
    answered: tookMs.length,
    failed: sent - tookMs.length + countUnsent(),
    seconds: tookSeconds,
    p50Ms: percentile(tookMs, 50),
    p99Ms: percentile(tookMs, 99),
  }
}

/** Starts sending, and returns a function that returns the number of due requests without a connection. */
type Begin = (
  connections: readonly HttpConnection[],
  send: (connection: HttpConnection, dueAt: number, whenAnswered: () => void) => void,
  isOver: () => boolean,
) => () => number

const asFastAsAnswered: Begin = (connections, send, isOver) => {
  const sendNext = (connection: HttpConnection): void => {
    if (!isOver()) send(connection, performance.now(), () => sendNext(connection))
  }
  for (const connection of connections) sendNext(connection)
  return () => 0
}

/** Sends evenly spaced requests. A request waits for a free connection; its latency starts when it was due. */
function spaced(perSecond: number): Begin {
  return (connections, send, isOver) => {
    const free = [...connections]
    const waitingSince: number[] = []
    const beganAt = performance.now()
    let due = 0

    const sendOn = (connection: HttpConnection, dueAt: number): void =>
      send(connection, dueAt, () => {
        const waiting = isOver() ? undefined : waitingSince.shift()
        if (waiting === undefined) free.push(connection)
        else sendOn(connection, waiting)
      })
    const tick = (): void => {
      if (isOver()) return
      const now = performance.now()
      for (; due <= ((now - beganAt) * perSecond) / 1_000; due += 1) {
        const connection = free.shift()
        if (connection) sendOn(connection, now)
        else waitingSince.push(now)
      }
      setTimeout(tick, Math.max(1, beganAt + (due * 1_000) / perSecond - performance.now()))
    }
    tick()
    return () => waitingSince.length
  }
}
