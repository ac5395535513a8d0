import { createCallQueue } from './call-queue.ts'
import { checkObject, checkOptions, checkTimeMs, checkUserName } from './check-input.ts'
import { getUser } from './get-user.ts'
import type { CallItem, NextvisitError } from './nextvisit-error.ts'
import { createSendRequest } from './request.ts'
import type { IdentifyCall, IdentifyResult, Refusal, TrackCall, TrackResult, UserResult } from './results.ts'
import { createRefusalWarning } from './warn-of-refusals.ts'

export interface NextvisitOptions {
  /** An admin key of your project, `nv_admin_…`. Keep it on your server. */
  readonly key: string
  /** The gateway's URL, such as `https://nextvisit.example.com`. */
  readonly host: string
  /** How long each call is tried, in all, before it rejects with `UNANSWERED`. Default: 30,000. */
  readonly deadlineMs?: number
  /** How many calls may wait for an answer; one more rejects at once with `QUEUE_FULL`. Default: 10,000. */
  readonly maxQueued?: number
  /** How long a call waits for others that travel with it. Default: 10. */
  readonly maxBatchDelayMs?: number
  /** Called for each `identify` and `track` that rejects, so that you need not await each promise. */
  readonly onUnsent?: (error: NextvisitError) => void
  /**
   * Called for each `identify` and `track` that the gateway refuses, such as 401 for a wrong key. These resolve, so a promise
   * that you do not await says nothing. Default: a line by `console.warn`, at most one a minute.
   */
  readonly onRefused?: (refusal: Refusal, item: CallItem) => void
}

export interface Nextvisit {
  /** Creates or updates a user. The user exists when the answer is there. */
  readonly identify: (call: IdentifyCall) => Promise<IdentifyResult>
  /** Records what a user did. */
  readonly track: (call: TrackCall) => Promise<TrackResult>
  readonly users: {
    /** What is known about a user: everything recorded, up to a moment ago. */
    readonly get: (userName: string) => Promise<UserResult>
  }
  /** Sends at once what waits for others. Resolves when every call so far has its answer; rejects with `UNSENT` if one got none. */
  readonly flush: () => Promise<void>
  /**
   * Takes no more calls, and flushes. Rejects with `UNSENT` if a call got no answer; the error's `items` are these calls.
   * `withinMs`: how long to try, from 0 to 2,147,483,647; anything else rejects with `INVALID`, and nothing is closed.
   * Default: the deadline of each call.
   */
  readonly close: (options?: { readonly withinMs?: number }) => Promise<void>
}

/** Opens nothing: the first call does. Throws a NextvisitError if an option can't be right. */
export function createNextvisit(options: NextvisitOptions): Nextvisit {
  checkObject('createNextvisit', 'an object with key and host', options)
  const { key, host, deadlineMs = 30_000, maxQueued = 10_000, maxBatchDelayMs = 10 } = options
  const { onUnsent, onRefused = createRefusalWarning() } = options
  checkOptions({ key, host, deadlineMs, maxQueued, maxBatchDelayMs })
  const sendRequest = createSendRequest(host, key)
  const queue = createCallQueue({
    sendRequest,
    deadlineMs,
    maxQueued,
    maxBatchDelayMs,
    onRefused: (...refused) => safely(() => onRefused(...refused)),
  })

  const add = <Result>(...call: Parameters<typeof queue.add>): Promise<Result> => {
    const answered = queue.add(...call) as Promise<unknown> as Promise<Result>
    // A promise that nobody awaits must not end the process.
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

/** What the caller's own function throws, or rejects with, ends nothing. */
function safely(tell: () => unknown): void {
  void (async () => tell())().catch(() => undefined)
}
