import { MAX_BATCH_BYTES, MAX_BATCH_ITEMS, TOO_LARGE } from './batch-limits.ts'
import { judgeResults } from './judge-results.ts'
import { type CallItem, NextvisitError } from './nextvisit-error.ts'
import { ANSWER_WITHIN_MS, type AnswerBody, type FailedAttempt, type SendRequest } from './request.ts'
import type { IdentifyCall, Refusal, TrackCall } from './results.ts'
import { retryDelayMs } from './retry.ts'
import { batchBody, ENVELOPE_BYTES, takeBatch } from './take-batch.ts'
import { waitForAnswer, type WaitingCall, type WrittenCall, writeCall } from './waiting-call.ts'

const MAX_REQUESTS = 4
/** Time after a 413 until batches grow again, because the limit may have been temporary. */
const GROW_AFTER_MS = 60_000

interface CallQueueParts {
  readonly sendRequest: SendRequest
  readonly deadlineMs: number
  readonly maxQueued: number
  readonly maxBatchDelayMs: number
  /** Called for each refused call. Must not throw. */
  readonly onRefused: (refusal: Refusal, item: CallItem) => void
}

/** Queue of calls to the gateway, sent in batches. */
export interface CallQueue {
  /** Adds a call. Resolves to its answer; rejects with a NextvisitError. */
  readonly add: (type: CallItem['type'], call: IdentifyCall | TrackCall) => Promise<AnswerBody>
  readonly flush: () => Promise<void>
  readonly close: (withinMs?: number) => Promise<void>
}

/**
 * Creates a queue that keeps each user's calls in order. At most one request at a time concerns a user, and contains the
 * first of their unanswered calls.
 */
export function createCallQueue(parts: CallQueueParts): CallQueue {
  const { sendRequest, deadlineMs, maxQueued, maxBatchDelayMs, onRefused } = parts
  /** Calls that are not in flight, in order. */
  let waiting: WaitingCall[] = []
  const unsettled = new Set<WaitingCall>()
  const requests = new Set<AbortController>()
  /** Users with a call in flight. */
  const busyUsers = new Set<unknown>()
  let maxBytes = MAX_BATCH_BYTES
  /** Instant when batches may grow, by `performance.now()`. */
  let growAt = Infinity
  /** Number of consecutive failed requests. */
  let failures = 0
  let pausedUntil = 0
  let timer: { readonly at: number; readonly handle: NodeJS.Timeout } | undefined
  let closing: Promise<void> | undefined

  function wakeIn(ms: number): void {
    const at = performance.now() + ms
    if (timer && timer.at <= at) return
    clearTimeout(timer?.handle)
    timer = { at, handle: setTimeout(sendBatches, ms) }
  }

  function sendBatches(): void {
    clearTimeout(timer?.handle)
    timer = undefined
    waiting = waiting.filter((call) => !call.isSettled())
    if (waiting.length === 0) return
    const now = performance.now()
    if (now < pausedUntil) return wakeIn(pausedUntil - now)
    if (now >= growAt) growTo(2 * maxBytes)
    // After a failure, a single request probes the gateway.
    while (requests.size < (failures > 0 ? 1 : MAX_REQUESTS)) {
      const batch = new Set(takeBatch(waiting, { maxBytes, busyUsers, now }))
      if (batch.size === 0) break
      waiting = waiting.filter((call) => !batch.has(call))
      void send([...batch])
    }
    const nextTry = waiting.reduce(
      (first, { sendFrom }) => (sendFrom > now ? Math.min(first, sendFrom) : first),
      Infinity,
    )
    if (nextTry < Infinity) wakeIn(nextTry - now)
  }

  async function send(batch: readonly WaitingCall[]): Promise<void> {
    const controller = new AbortController()
    requests.add(controller)
    for (const { item } of batch) busyUsers.add(item.userName)
    const body = batchBody(batch)
    const attempt = await sendRequest({ path: '/v2/admin/batch', body, withinMs: ANSWER_WITHIN_MS, controller })
    requests.delete(controller)
    for (const { item } of batch) busyUsers.delete(item.userName)
    if (attempt.outcome === 'failed') sendAgainLater(batch, attempt)
    else if (attempt.status === 413 && batch.length > 1) halve(batch, body)
    else if (attempt.status === 200) settle(batch, attempt.body)
    else for (const call of batch) call.answer(attempt.body)
    sendBatches()
  }

  /** Pauses all requests after one without an answer. */
  function pause(retryAfterMs: number): void {
    const now = performance.now()
    // Requests in flight at the same time count as one failure.
    if (now >= pausedUntil) failures += 1
    pausedUntil = Math.max(pausedUntil, now + retryDelayMs(failures, retryAfterMs, Math.random()))
  }

  function sendAgainLater(batch: readonly WaitingCall[], failed: FailedAttempt): void {
    pause(failed.retryAfterMs)
    for (const call of batch) call.lastFailure = failed.cause
    waiting = [...batch, ...waiting]
  }

  /** Halves the maximum batch size after a 413: a proxy has a lower limit than the gateway. */
  function halve(batch: readonly WaitingCall[], body: string): void {
    growTo(Math.min(maxBytes, Math.floor(Buffer.byteLength(body) / 2)))
    waiting = [...batch, ...waiting]
  }

  /** Doubles the maximum batch size each minute. If the limit still applies, that costs one refused request a minute. */
  function growTo(bytes: number): void {
    maxBytes = Math.min(MAX_BATCH_BYTES, bytes)
    growAt = performance.now() + GROW_AFTER_MS
  }

  function settle(batch: readonly WaitingCall[], body: AnswerBody): void {
    const judged = judgeResults(batch, body)
    if (judged.every(({ outcome }) => outcome === 'again')) pause(0)
    else failures = 0
    const heldUsers = new Set<unknown>()
    for (const judgement of judged) {
      const { call } = judgement
      if (judgement.outcome === 'answered') call.answer(judgement.result)
      if (judgement.outcome !== 'again') continue
      call.lastFailure = judgement.cause
      // Later calls of the same user wait behind it, and are then sent with it.
      if (heldUsers.has(call.item.userName)) continue
      heldUsers.add(call.item.userName)
      call.attempts += 1
      call.sendFrom = performance.now() + retryDelayMs(call.attempts, 0, Math.random())
    }
    waiting = [...batch, ...waiting]
  }

  /** Enqueues a call. Resolves to its answer; rejects without an answer, or if the queue is full or closed. */
  async function enqueue(written: WrittenCall): Promise<AnswerBody> {
    const { item, bytes } = written
    if (closing) throw new NextvisitError('CLOSED', 'close() was called before', [item])
    if (bytes + ENVELOPE_BYTES > MAX_BATCH_BYTES) return { ...TOO_LARGE }
    if (unsettled.size >= maxQueued)
      throw new NextvisitError('QUEUE_FULL', `${maxQueued} calls are already waiting for an answer`, [item])
    const waitingCall = waitForAnswer(written, deadlineMs, () => unsettled.delete(waitingCall))
    unsettled.add(waitingCall)
    waiting.push(waitingCall)
    wakeIn(waiting.length >= MAX_BATCH_ITEMS ? 0 : maxBatchDelayMs)
    return waitingCall.answered
  }

  async function flush(): Promise<void> {
    const calls = [...unsettled]
    wakeIn(0)
    const outcomes = await Promise.allSettled(calls.map(({ answered }) => answered))
    const unsent = calls.filter((_, index) => outcomes[index]?.status === 'rejected')
    const [first] = unsent
    if (!first) return
    const message = `${unsent.length} of ${calls.length} calls had no answer`
    throw new NextvisitError(
      'UNSENT',
      message,
      unsent.map(({ item }) => item),
      first.lastFailure,
    )
  }

  async function flushWithin(withinMs: number | undefined): Promise<void> {
    const giveUp = () => {
      for (const call of unsettled) call.fail(`There was no answer within ${withinMs} ms of close()`)
    }
    const giveUpTimer = withinMs === undefined ? undefined : setTimeout(giveUp, withinMs)
    try {
      await flush()
    } finally {
      clearTimeout(giveUpTimer)
      clearTimeout(timer?.handle)
      for (const controller of requests) controller.abort()
    }
  }

  return {
    add: async (type, call) => {
      const written = writeCall(type, call)
      const result = await enqueue(written)
      if (isRefusal(result)) onRefused(result, written.item)
      return result
    },
    flush,
    close: (withinMs) => (closing ??= flushWithin(withinMs)),
  }
}

function isRefusal(result: AnswerBody): result is AnswerBody & Refusal {
  return Number(result['status']) >= 400
}
