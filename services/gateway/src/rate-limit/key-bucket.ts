import { setTimeout as sleep } from 'node:timers/promises'
import type { RateLimit } from '@nextvisit/contracts'
import { available, type Bucket, drain, verdictOf } from './bucket.ts'
import { createDemand } from './demand.ts'
import { LEASE_MS } from './lease-script.ts'
import type { RateLimitVerdict } from './rate-limiter.ts'
import type { SharedBuckets } from './shared-buckets.ts'

/** One key's tokens at this gateway. */
export interface KeyBucket {
  readonly limit: RateLimit
  readonly take: () => RateLimitVerdict | Promise<RateLimitVerdict>
  /** Gives nothing back: it is superseded. */
  readonly close: () => void
}

/**
 * Hands out tokens of the shared bucket. While requests keep coming it leases, in advance and in the background, what the
 * next moment will need; a request waits for Redis only where nothing is leased, and one question asks for all that wait.
 * That the bucket is empty is known until its next token. While Redis is away, this gateway goes on from what it knows.
 */
export function createKeyBucket(
  keyHash: string,
  limit: RateLimit,
  shared: SharedBuckets,
  nowMs: () => number,
): KeyBucket {
  /** The shared bucket as last heard of, with what passed here since while Redis was away. */
  let bucket: Bucket = { level: 0, atMs: nowMs() }
  let leased = 0
  let leaseEndsAt = 0
  let renewAtOrBelow = -1
  let returned = 0
  let emptyUntil = 0
  let isAsking = false
  let returning: NodeJS.Timeout | undefined
  const waiting: ((verdict: RateLimitVerdict) => void)[] = []
  const demand = createDemand()

  function tell(isAllowed: boolean): RateLimitVerdict {
    bucket = drain(bucket, limit, nowMs())
    return verdictOf(isAllowed, bucket, limit, leased)
  }

  function takeLeased(): RateLimitVerdict {
    leased -= 1
    return tell(true)
  }

  /** Without Redis: as if there were no other gateway. */
  function takeHere(): RateLimitVerdict {
    bucket = drain(bucket, limit, nowMs())
    const isAllowed = available(bucket, limit) >= 1
    if (isAllowed) bucket = { ...bucket, level: bucket.level + 1 }
    return tell(isAllowed)
  }

  function endLease(): void {
    if (leased > 0) returned = leased
    leased = 0
  }
  function endLeaseInTime(): void {
    if (nowMs() >= leaseEndsAt) endLease()
  }

  /** Asks until nobody waits any more. Never rejects. */
  async function ask(): Promise<void> {
    if (isAsking) return
    isAsking = true
    let hasWaited = false
    do {
      const need = waiting.length
      const askedAt = nowMs()
      const lease = await lend(need, askedAt)
      if (!lease) {
        for (const resolve of waiting.splice(0)) resolve(takeHere())
        break
      }
      const served = waiting.splice(0, leased)
      for (const resolve of served) resolve(takeLeased())
      const missing = need - served.length
      if (missing <= 0) continue
      if (lease.othersEndInMs > 0 && !hasWaited) {
        // The last tokens may lie unused at another gateway: they are back in a moment.
        hasWaited = true
        await sleep(lease.othersEndInMs)
        continue
      }
      // Told of a moment before Redis looked, so no token is there earlier than this.
      if (lease.othersEndInMs === 0) emptyUntil = askedAt + ((lease.level + 1 - limit.burst) / limit.perSecond) * 1_000
      for (const resolve of waiting.splice(0, missing)) resolve(tell(false))
    } while (waiting.length > 0)
    isAsking = false
  }

  async function lend(need: number, askedAt: number) {
    endLeaseInTime()
    const { level } = drain(bucket, limit, askedAt)
    const request = { keyHash, limit, need, extra: demand.extra(askedAt, leased), kept: leased, returned, level }
    returned = 0
    const lease = await shared.lease(request)
    if (!lease) return undefined
    endLeaseInTime()
    bucket = { level: lease.level, atMs: nowMs() }
    leased += lease.granted + lease.advance
    leaseEndsAt = askedAt + LEASE_MS
    renewAtOrBelow = lease.advance > 0 ? Math.floor((leased - lease.granted) / 4) : -1
    clearTimeout(returning)
    if (leased > lease.granted) returning = setTimeout(returnLease, LEASE_MS).unref()
    return lease
  }

  function returnLease(): void {
    endLease()
    if (returned > 0 && !shared.isAway()) void ask()
    else returned = 0
  }

  return {
    limit,
    take: () => {
      demand.count()
      endLeaseInTime()
      if (leased > 0) {
        const verdict = takeLeased()
        if (leased <= renewAtOrBelow && !shared.isAway()) void ask()
        return verdict
      }
      if (shared.isAway()) {
        if (shared.isRetryDue()) void ask()
        return takeHere()
      }
      if (nowMs() < emptyUntil) return tell(false)
      const verdict = new Promise<RateLimitVerdict>((resolve) => waiting.push(resolve))
      void ask()
      return verdict
    },
    close: () => clearTimeout(returning),
  }
}
