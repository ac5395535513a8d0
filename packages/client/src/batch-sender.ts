import { MAX_BATCH_ITEMS } from './batch-limits.ts'
import { createPacing } from './pacing.ts'
import { ANSWER_WITHIN_MS, type SendRequest } from './request.ts'
import { settleBatch } from './settle-batch.ts'
import { batchBody, takeBatch } from './take-batch.ts'
import type { WaitingCall } from './waiting-call.ts'

interface BatchSenderParts {
  /** Calls without an answer, in order. */
  readonly calls: ReadonlySet<WaitingCall>
  readonly sendRequest: SendRequest
  readonly maxBatchDelayMs: number
}

/**
 * Creates a sender of calls in batches. At most one request at a time concerns a user, and contains the first of their
 * unanswered calls.
 */
export function createBatchSender({ calls, sendRequest, maxBatchDelayMs }: BatchSenderParts) {
  const requests = new Set<AbortController>()
  /** Users with a call in flight. */
  const busyUsers = new Set<string>()
  let callsInFlight = 0
  const pacing = createPacing()
  let timer: { readonly at: number; readonly handle: NodeJS.Timeout } | undefined

  function sendIn(ms: number): void {
    const at = performance.now() + ms
    if (timer && timer.at <= at) return
    clearTimeout(timer?.handle)
    timer = { at, handle: setTimeout(sendBatches, ms) }
  }

  function sendBatches(): void {
    clearTimeout(timer?.handle)
    timer = undefined
    if (calls.size === 0) return
    const pauseMs = pacing.pauseMs()
    if (pauseMs > 0) return sendIn(pauseMs)
    const now = performance.now()
    while (requests.size < pacing.maxRequests()) {
      const batch = takeBatch(calls, { maxBytes: pacing.maxBatchBytes(), busyUsers, now })
      if (batch.length === 0) break
      void send(batch)
    }
    let nextTry = Infinity
    for (const { sendFrom } of calls) if (sendFrom > now) nextTry = Math.min(nextTry, sendFrom)
    if (nextTry < Infinity) sendIn(nextTry - now)
  }

  async function send(batch: readonly WaitingCall[]): Promise<void> {
    const controller = new AbortController()
    requests.add(controller)
    callsInFlight += batch.length
    for (const { user } of batch) busyUsers.add(user)
    const body = batchBody(batch)
    const attempt = await sendRequest({ path: '/v2/admin/batch', body, withinMs: ANSWER_WITHIN_MS, controller })
    requests.delete(controller)
    callsInFlight -= batch.length
    for (const { user } of batch) busyUsers.delete(user)
    settleBatch(batch, body.length, attempt, pacing)
    sendBatches()
  }

  return {
    /** Reports an added call: it is sent with those that follow within `maxBatchDelayMs`, or once a batch is full. */
    onAdded: (): void => sendIn(calls.size - callsInFlight >= MAX_BATCH_ITEMS ? 0 : maxBatchDelayMs),
    sendNow: (): void => sendIn(0),
    /** Ends the requests in flight. */
    stop: (): void => {
      clearTimeout(timer?.handle)
      for (const controller of requests) controller.abort()
    },
  }
}
