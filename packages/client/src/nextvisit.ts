import { createCallQueue } from './call-queue.ts'
import { checkObject, checkOptions, checkTimeMs, checkUserName } from './check-input.ts'
import { type CallItem, type NextvisitError, unanswered } from './nextvisit-error.ts'
import { ANSWER_WITHIN_MS, type AnswerBody, createSendRequest, type SendRequest } from './request.ts'
import type { IdentifyCall, IdentifyResult, Refusal, TrackCall, TrackResult, UserResult } from './results.ts'
import { retryDelayMs } from './retry.ts'
import { createRefusalWarning } from './warn-of-refusals.ts'

export interface NextvisitOptions {
  /** An admin key of your project, `nv_admin_…`. Keep it on your server. */
  readonly key: string
  /** The gateway's URL, such as `https://nextvisit.example.com`. */
  readonly host: string
  /** Total time in ms to try a call before it rejects with `UNANSWERED`. Default: 30,000. */
  readonly deadlineMs?: number
  /** Maximum number of calls waiting for an answer; a further call rejects at once with `QUEUE_FULL`. Default: 10,000. */
  readonly maxQueued?: number
  /**
   * Maximum size in bytes, as JSON, of the calls waiting for an answer; a further call rejects at once with `QUEUE_FULL`.
   * Default: 67,108,864 (64 MiB).
   */
  readonly maxQueuedBytes?: number
  /** Time in ms that a call waits for others of its batch. Default: 10. */
  readonly maxBatchDelayMs?: number
  /** Called for each `identify` and `track` that rejects, so that you need not await each promise. */
  readonly onUnsent?: (error: NextvisitError) => void
  /**
   * Called for each `identify` and `track` that the gateway refuses, such as 401 for a wrong key. Refused calls resolve, so a
   * promise that you do not await hides them. Default: `console.warn`, at most one line a minute.
   */
  readonly onRefused?: (refusal: Refusal, item: CallItem) => void
}

export interface Nextvisit {
  /** Creates or updates a user. The user exists once the promise resolves. */
  readonly identify: (call: IdentifyCall) => Promise<IdentifyResult>
  /** Records an event of a user. */
  readonly track: (call: TrackCall) => Promise<TrackResult>
  readonly users: {
    /** Reads a user, including everything recorded up to a moment ago. */
    readonly get: (userName: string) => Promise<UserResult>
  }
  /** Sends waiting calls at once. Resolves when every call so far has its answer; rejects with `UNSENT` if one got none. */
  readonly flush: () => Promise<void>
  /**
   * Accepts no more calls, and flushes. Rejects with `UNSENT` if a call got no answer; the error's `items` are these calls.
   * `withinMs`: time to try, from 0 to 2,147,483,647; any other value rejects with `INVALID`, and nothing is closed.
   * Default: the deadline of each call.
   */
  readonly close: (options?: { readonly withinMs?: number }) => Promise<void>
}

/** Creates a client, which connects at the first call. Throws a NextvisitError if an option is invalid. */
export function createNextvisit(options: NextvisitOptions): Nextvisit {
  checkObject('createNextvisit', 'an object with key and host', options)
  const { key, host, deadlineMs = 30_000, maxQueued = 10_000, maxQueuedBytes = 64 * 1_024 ** 2 } = options
  const { maxBatchDelayMs = 10, onUnsent, onRefused = createRefusalWarning() } = options
  checkOptions({ key, host, deadlineMs, maxQueued, maxQueuedBytes, maxBatchDelayMs })
  const sendRequest = createSendRequest(host, key)
  const queue = createCallQueue({
    sendRequest,
    deadlineMs,
    maxQueued,
    maxQueuedBytes,
    maxBatchDelayMs,
    onRefused: (...refused) => safely(() => onRefused(...refused)),
  })

  const add = <Result>(...call: Parameters<typeof queue.add>): Promise<Result> => {
    const answered = queue.add(...call) as Promise<unknown> as Promise<Result>
    // A rejected promise that is not awaited must not end the process.
    answered.catch((error: NextvisitError) => safely(() => onUnsent?.(error)))
    return answered
  }
  return {
    identify: (call) => add<IdentifyResult>('identify', call),
    track: (call) => add<TrackResult>('track', call),
    users: {
      get: async (userName) => {
        checkUserName(userName)
        return (await getUser(sendRequest, userName, deadlineMs)) as unknown as UserResult
      },
    },
    flush: queue.flush,
    close: async (how = {}) => {
      checkObject('close', 'an object with withinMs', how)
      if (how.withinMs !== undefined) checkTimeMs('withinMs', how.withinMs)
      return queue.close(how.withinMs)
    },
  }
}

/** Reads a user, with retries until the deadline. Resolves to the answer with its `status`; rejects with a NextvisitError. */
async function getUser(sendRequest: SendRequest, userName: string, deadlineMs: number): Promise<AnswerBody> {
  const dueAt = performance.now() + deadlineMs
  const path = `/v2/admin/users?userName=${encodeURIComponent(userName)}`
  for (let failures = 1; ; failures += 1) {
    const withinMs = Math.min(ANSWER_WITHIN_MS, dueAt - performance.now())
    const attempt = await sendRequest({ path, withinMs, controller: new AbortController() })
    if (attempt.outcome === 'answered') return { ...attempt.body, status: attempt.status }
    const pauseMs = retryDelayMs(failures, attempt.retryAfterMs, Math.random())
    if (performance.now() + pauseMs >= dueAt)
      throw unanswered(`There was no answer within ${deadlineMs} ms`, [], attempt.cause)
    await new Promise((resolve) => setTimeout(resolve, pauseMs))
  }
}

/** Calls a callback of the application, and ignores its errors and rejections. */
function safely(tell: () => unknown): void {
  void (async () => tell())().catch(() => undefined)
}
