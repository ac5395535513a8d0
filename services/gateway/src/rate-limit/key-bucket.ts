import { setTimeout as sleep } from 'node:timers/promises'
import type { RateLimit } from '@nextvisit/contracts'
import { available, type Bucket, drain, spend, verdictOf } from './bucket.ts'
import { createDemand } from './demand.ts'
import { LEASE_MS } from './lease-script.ts'
import type { RateLimitVerdict } from './rate-limiter.ts'
import type { Lease, SharedBuckets } from './shared-buckets.ts'

/** One key's tokens at this gateway. A changed limit takes effect with the take that tells of it. */
export interface KeyBucket {
  readonly take: (limit: RateLimit) => RateLimitVerdict | Promise<RateLimitVerdict>
}

/**
 * Hands out tokens of the shared bucket. While requests keep coming it leases, in advance and in the background, what the
 * next moment will need; a request waits for Redis only where nothing is leased, and one question asks for all that wait.
 * That the bucket is empty is known until its next token. While Redis is away, this gateway goes on from what it knows.
 */
export function createKeyBucket(keyHash: string, shared: SharedBuckets, nowMs: () => number): KeyBucket {
  let limit: RateLimit = { perSecond: 1, burst: 1 }
  /** The shared bucket as last heard of, and what is owed to it. */
  let bucket: Bucket = { level: 0, atMs: nowMs() }
  /** What passed here without Redis and did not come back since: paid with the next lease. */
  let owed: Bucket = bucket
  let leased = 0
  let leaseEndsAt = 0
  let renewAtOrBelow = -1
  let returned = 0
  let emptyUntil = 0
  let isAsking = false
  let returning: NodeJS.Timeout | undefined
  const waiting: ((verdict: RateLimitVerdict) => void)[] = []
  const demand = createDemand()

  function follow(changed: RateLimit): void {
    const { level, atMs } = drain(bucket, limit, nowMs())
    bucket = { level: Math.min(level, changed.burst), atMs }
    owed = drain(owed, limit, atMs)
    limit = changed
    emptyUntil = 0
    endLease()
  }

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
    if (isAllowed) {
      bucket = spend(bucket, 1)
      owed = spend(drain(owed, limit, bucket.atMs), 1)
    }
    return tell(isAllowed)
  }
  function serveHere(): void {
    for (const resolve of waiting.splice(0)) resolve(takeHere())
  }

  function endLease(): void {
    if (leased > 0) returned = leased
    leased = 0
  }
  function endLeaseInTime(): void {
    if (nowMs() >= leaseEndsAt) endLease()
  }

  /** Asks until nobody waits any more and nothing is left to return. Never rejects. */
  async function ask(): Promise<void> {
    if (isAsking) return
    isAsking = true
    let hasWaited = false
    do {
      const need = waiting.length
      const askedAt = nowMs()
      const limitThen = limit
      const lease = await lend(need, askedAt)
      if (!lease) {
        serveHere()
        break
      }
      const asked = Math.min(need, waiting.length)
      const served = waiting.splice(0, leased)
      for (const resolve of served) resolve(takeLeased())
      const missing = asked - served.length
      if (missing <= 0 || limit !== limitThen) continue
      if (lease.othersEndInMs > 0 && !hasWaited) {
        // The last tokens may lie unused at another gateway: they are back in a moment.
        hasWaited = true
        await sleep(lease.othersEndInMs)
        continue
      }
      // Told of a moment before Redis looked, so no token is there earlier than this.
      if (lease.othersEndInMs === 0) emptyUntil = askedAt + ((lease.level + 1 - limit.burst) / limit.perSecond) * 1_000
      for (const resolve of waiting.splice(0, missing)) resolve(tell(false))
    } while (waiting.length > 0 || returned > 0)
    isAsking = false
  }

  /** Gets tokens for so many requests, if they still wait for them, and some in advance. */
  async function lend(need: number, askedAt: number): Promise<Lease | undefined> {
    endLeaseInTime()
    const limitThen = limit
    const { level } = drain(bucket, limit, askedAt)
    const paid = drain(owed, limit, askedAt).level
    const request = {
      keyHash,
      limit,
      need,
      extra: demand.extra(askedAt, leased),
      kept: leased,
      returned,
      level: Math.max(0, level - paid),
      owed: paid,
    }
    returned = 0
    const lease = await shared.lease(request, serveHere)
    owed = drain(owed, limit, nowMs())
    if (!lease) return undefined
    endLeaseInTime()
    // Where an answer came late, some wait no more: they were served here, and what it grants them pays for that.
    const granted = Math.min(lease.granted, waiting.length)
    owed = spend(owed, -Math.min(owed.level, paid + lease.granted - granted))
    bucket = { level: lease.level + owed.level, atMs: nowMs() }
    leased += lease.advance
    leaseEndsAt = askedAt + LEASE_MS
    renewAtOrBelow = lease.advance > 0 ? Math.floor(lease.advance / 4) : -1
    clearTimeout(returning)
    if (leased > 0) returning = setTimeout(returnLease, LEASE_MS).unref()
    if (limit !== limitThen) endLease()
    leased += granted
    return lease
  }

  function returnLease(): void {
    endLease()
    if (returned > 0 && !shared.isAway()) void ask()
    else returned = 0
  }

  return {
    take: (current) => {
      if (current.burst !== limit.burst || current.perSecond !== limit.perSecond) follow(current)
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
  }
}
