import { createCallQueue } from './call-queue.ts'
import { getUser } from './get-user.ts'
import type { NextvisitError } from './nextvisit-error.ts'
import { createSendRequest } from './request.ts'
import type { IdentifyCall, IdentifyResult, TrackCall, TrackResult, UserResult } from './results.ts'

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
   * `withinMs`: how long to try. Default: the deadline of each call.
   */
  readonly close: (options?: { readonly withinMs?: number }) => Promise<void>
}

/** Opens nothing: the first call does. Throws if the key or the host can't be right. */
export function createNextvisit(options: NextvisitOptions): Nextvisit {
  const { key, host, deadlineMs = 30_000, maxQueued = 10_000, maxBatchDelayMs = 10, onUnsent } = options
  if (typeof key !== 'string' || !/^[\x21-\x7e]+$/.test(key))
    throw new TypeError('key must be an admin key, nv_admin_…')
  if (!/^https?:$/.test(new URL(host).protocol)) throw new TypeError('host must be a URL that begins with http')
  const sendRequest = createSendRequest(host, key)
  const queue = createCallQueue({ sendRequest, deadlineMs, maxQueued, maxBatchDelayMs })

  const add = <Result>(...call: Parameters<typeof queue.add>): Promise<Result> => {
    const answered = queue.add(...call) as Promise<unknown> as Promise<Result>
    // A promise that nobody awaits must not end the process, nor what the caller's own function throws.
    answered.catch((error: NextvisitError) => onUnsent?.(error)).catch(() => {})
    return answered
  }
  return {
    identify: (call) => add<IdentifyResult>('identify', call),
    track: (call) => add<TrackResult>('track', call),
    users: { get: (userName) => getUser(sendRequest, userName, deadlineMs) as Promise<unknown> as Promise<UserResult> },
    flush: queue.flush,
    close: ({ withinMs } = {}) => queue.close(withinMs),
  }
}
