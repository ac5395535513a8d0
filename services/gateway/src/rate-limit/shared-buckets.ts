import type { RateLimit } from '@nextvisit/contracts'
import { z } from 'zod'
import type { Logger } from '@nextvisit/service-kit'
import { runLeaseScript, type ScriptRunner } from './lease-script.ts'

export interface LeaseRequest {
  readonly keyHash: string
  readonly limit: RateLimit
  /** Tokens for requests that wait for them. */
  readonly need: number
  /** Tokens wished for in advance. */
  readonly extra: number
  /** Leased tokens that this gateway goes on using. */
  readonly kept: number
  /** Leased tokens that it will not use. */
  readonly returned: number
  /** The bucket's level as far as this gateway knows, for a Redis that has lost it. Without what is owed. */
  readonly level: number
  /** What passed here without Redis, so far as it has not come back. */
  readonly owed: number
}

export interface Lease {
  /** At most `need`. */
  readonly granted: number
  /** At most `extra`. To be used within `LEASE_MS` of the asking. */
  readonly advance: number
  /** The bucket's, with everything that is leased. */
  readonly level: number
  /** After this, other gateways will have used or returned what they hold; 0 where they hold nothing. */
  readonly othersEndInMs: number
}

/** The buckets that all gateways share, in Redis. */
export interface SharedBuckets {
  /** `undefined`: Redis could not be asked. `onSlow` is called before where it takes too long to wait for. Never rejects. */
  readonly lease: (request: LeaseRequest, onSlow: () => void) => Promise<Lease | undefined>
  /** The last attempt failed, or took too long. */
  readonly isAway: () => boolean
  /** Time for the next attempt while it is away. */
  readonly isRetryDue: () => boolean
}

export interface SharedBucketsOptions {
  readonly redis: ScriptRunner
  /** Before every key in Redis. */
  readonly keyPrefix: string
  /** Names this gateway among those that share the buckets. */
  readonly instanceId: string
  /** A clock that never goes back, such as `performance.now`. */
  readonly nowMs: () => number
  readonly logger: Logger
  /** No request waits longer for Redis. Default 50. */
  readonly patienceMs?: number
}

const PATIENCE_MS = 50
const RETRY_AFTER_MS = 250

const Reply = z
  .tuple([z.number(), z.number(), z.coerce.number(), z.number()])
  .transform(([granted, advance, level, othersEndInMs]): Lease => ({ granted, advance, level, othersEndInMs }))

export function createSharedBuckets(options: SharedBucketsOptions): SharedBuckets {
  const { redis, keyPrefix, instanceId, nowMs, logger, patienceMs = PATIENCE_MS } = options
  let isAway = false
  let triedAt = 0

  /** One line when it goes and one when it comes back. */
  function onAway(because: string): void {
    if (!isAway) logger.warn({ because }, 'Rate limits are kept by each gateway for itself: Redis is away or slow')
    isAway = true
  }
  function onBack(): void {
    if (isAway) logger.info({}, 'Rate limits are shared by all gateways again')
    isAway = false
  }

  async function ask({ keyHash, limit, ...rest }: LeaseRequest): Promise<Lease> {
    const { need, extra, kept, returned, level, owed } = rest
    const given = [limit.burst, limit.perSecond, instanceId, need, extra, kept, returned, level, owed]
    return Reply.parse(await runLeaseScript(redis, `${keyPrefix}rate:${keyHash}`, given))
  }

  return {
    isAway: () => isAway,
    isRetryDue: () => nowMs() - triedAt >= RETRY_AFTER_MS,
    lease: async (request, onSlow) => {
      triedAt = nowMs()
      let state: 'asked' | 'slow' | 'answered' = 'asked'
      const giveUp = () => {
        if (state === 'answered') return
        state = 'slow'
        onAway(`No answer within ${patienceMs} ms`)
        onSlow()
      }
      // After a stall of this process the answer may be there, unread: look once before giving up.
      const timer = setTimeout(() => setImmediate(giveUp), patienceMs)
      try {
        const lease = await ask(request)
        if (state === 'asked') onBack()
        return lease
      } catch (error) {
        onAway(error instanceof Error ? error.message : 'unknown')
        return undefined
      } finally {
        state = 'answered'
        clearTimeout(timer)
      }
    },
  }
}
