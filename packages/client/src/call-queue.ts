import { MAX_BATCH_BYTES, MAX_BATCH_ITEMS, TOO_LARGE } from './batch-limits.ts'
import { type CallItem, NextvisitError } from './nextvisit-error.ts'
import { createPacing } from './pacing.ts'
import { ANSWER_WITHIN_MS, type AnswerBody, type SendRequest } from './request.ts'
import type { IdentifyCall, Refusal, TrackCall } from './results.ts'
import { isRetryable, retryDelayMs } from './retry.ts'
import { batchBody, ENVELOPE_BYTES, takeBatch } from './take-batch.ts'
import { waitForAnswer, type WaitingCall, type WrittenCall, writeCall } from './waiting-call.ts'

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
  const pacing = createPacing()
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
    const pauseMs = pacing.pauseMs()
    if (pauseMs > 0) return wakeIn(pauseMs)
    const now = performance.now()
    while (requests.size < pacing.maxRequests()) {
      const batch = new Set(takeBatch(waiting, { maxBytes: pacing.maxBatchBytes(), busyUsers, now }))
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
    if (attempt.outcome === 'failed') {
      pacing.onFailed(attempt.retryAfterMs)
      for (const call of batch) call.lastFailure = attempt.cause
    } else if (attempt.status === 413 && batch.length > 1) pacing.onTooLarge(Buffer.byteLength(body))
    else if (attempt.status === 200) settle(batch, attempt.body)
    else for (const call of batch) call.answer(attempt.body)
    waiting = [...batch, ...waiting]
    sendBatches()
  }

  /** Settles the calls whose items have a final result, and delays the others. */
  function settle(batch: readonly WaitingCall[], { results }: AnswerBody): void {
    const heldUsers = new Set<unknown>()
    let isAnyAnswered = false
    for (const [index, call] of batch.entries()) {
      const result: unknown = Array.isArray(results) ? results[index] : undefined
      if (isFinal(result)) {
        call.answer(result)
        isAnyAnswered = true
        continue
      }
      call.lastFailure = new Error(`The item's result: ${JSON.stringify(result)}`)
      // Later calls of the same user wait behind it, and are then sent with it.
      if (heldUsers.has(call.item.userName)) continue
      heldUsers.add(call.item.userName)
      call.attempts += 1
      call.sendFrom = performance.now() + retryDelayMs(call.attempts, 0, Math.random())
    }
    if (isAnyAnswered) pacing.onAnswered()
    else pacing.onFailed(0)
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

/** Returns true for the result of an item that need not be sent again. */
function isFinal(result: unknown): result is AnswerBody {
  if (typeof result !== 'object' || result === null || !('status' in result)) return false
  return typeof result.status === 'number' && !isRetryable(result.status)
}
