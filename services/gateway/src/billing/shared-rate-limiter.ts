import { setImmediate as nextTurn, setTimeout as sleep } from 'node:timers/promises'
import type { RateLimit } from '@nextvisit/contracts'
import { createOutageLog, type Logger, messageOf } from '@nextvisit/service-kit'
import { LRUCache } from 'lru-cache'
import { LEASE_MS, LEASE_SCRIPT, TokenLease, type TokenLeaseRequest } from './lease-script.ts'
import {
  type BatchTokens,
  drain,
  type RateLimiter,
  type RateLimitVerdict,
  type TokenBucket,
  tokensIn,
  verdictOf,
} from './rate-limiter.ts'

interface SharedRateLimiterOptions {
  /** An ioredis client. */
  readonly redis: { readonly eval: (script: string, keyCount: number, ...given: string[]) => Promise<unknown> }
  /** Prefix of every key in Redis. */
  readonly keyPrefix: string
  /** Id of this gateway among those that share the buckets. */
  readonly instanceId: string
  /** A monotonic clock, such as `performance.now`. */
  readonly nowMs: () => number
  readonly logger: Logger
  /** Timeout for Redis. Default 50. */
  readonly patienceMs?: number
}

const MAX_KEYS = 10_000
const RETRY_AFTER_MS = 250
/** A request may wait for a call in flight, for the next one, and for one after other gateways returned tokens. */
const MAX_CALLS = 3

type Take = (limit: RateLimit, batch?: BatchTokens) => Promise<RateLimitVerdict>
/** `hasPassed` is set once Redis has answered. */
type WaitingBatch = BatchTokens & { hasPassed?: boolean }
type AskForLease = (request: TokenLeaseRequest) => Promise<TokenLease | undefined>

/** Creates token buckets that all gateways share through Redis (decision 0011). */
export function createSharedRateLimiter(options: SharedRateLimiterOptions): RateLimiter {
  const askFor = createPatientLeases(options)
  const takes = new LRUCache<string, Take>({
    max: MAX_KEYS,
    memoMethod: (hash) => createTake(askFor(hash), options.nowMs),
  })
  return { take: (keyHash, limit, batch) => takes.memo(keyHash)(limit, batch) }
}

/** Creates leases of a key: `undefined` while Redis fails or is slow, retried in the background. Never rejects. */
function createPatientLeases(options: SharedRateLimiterOptions): (keyHash: string) => AskForLease {
  const { redis, keyPrefix, instanceId, nowMs, logger, patienceMs = 50 } = options
  const unshared = createOutageLog(logger, {
    began: 'Rate limits are kept by each gateway for itself: Redis is unavailable or slow',
    ended: 'Rate limits are shared by all gateways again',
  })
  let isAvailable = true
  let retryAt = 0

  async function ask(keyHash: string, request: TokenLeaseRequest): Promise<TokenLease | undefined> {
    retryAt = nowMs() + RETRY_AFTER_MS
    const given = [`${keyPrefix}rate:${keyHash}`, JSON.stringify({ gateway: instanceId, ...request })]
    try {
      const reply = await Promise.race([redis.eval(LEASE_SCRIPT, 1, ...given), giveUpAfter(patienceMs)])
      if (reply === undefined) throw new Error(`No answer within ${patienceMs} ms`)
      const lease = TokenLease.parse(reply)
      unshared.end()
      isAvailable = true
      return lease
    } catch (error) {
      const because = messageOf(error)
      unshared.begin({ because })
      isAvailable = false
      return undefined
    }
  }

  return (keyHash) => async (request) => {
    if (isAvailable) return ask(keyHash, request)
    if (nowMs() >= retryAt) void ask(keyHash, { ...request, need: 0, batches: [], extra: 0 })
    return undefined
  }
}

async function giveUpAfter(patienceMs: number): Promise<undefined> {
  await sleep(patienceMs, undefined, { ref: false })
  // After a stall of this process, an answer that has arrived is read first.
  await nextTurn()
}

/** The bucket of one key, as this gateway knows it, with the tokens that it leased in advance. */
function createLocalBucket(nowMs: () => number) {
  let limit: RateLimit = { perSecond: 1, burst: 1 }
  /** The shared bucket as last seen, never emptier than it is, plus the requests that passed here without Redis. */
  let known: TokenBucket = { level: 0, atMs: nowMs() }
  let leased = 0
  let leasedAt = Number.NEGATIVE_INFINITY

  function tokens(): number {
    known = drain(known, limit, nowMs())
    return tokensIn(known, limit)
  }

  function verdict(isAllowed: boolean, need = 1): RateLimitVerdict {
    return verdictOf(isAllowed, Math.min(limit.burst, tokens() + leased), limit, need)
  }

  /** Applies the current limit of the key. A changed one starts without debt, and ends the lease. */
  function setLimit(current: RateLimit): void {
    if (current.burst === limit.burst && current.perSecond === limit.perSecond) return
    leasedAt = Number.NEGATIVE_INFINITY
    limit = current
    known = { ...known, level: Math.min(known.level, limit.burst) }
  }

  function takeLeased(): RateLimitVerdict {
    leased -= 1
    return verdict(true)
  }

  function hasTokensFor({ need, isOwedAnyway = false }: BatchTokens): boolean {
    return isOwedAnyway || tokens() + leased >= need
  }

  function takeWithoutRedis({ need, owed, isOwedAnyway = false }: BatchTokens, needAgain: number): RateLimitVerdict {
    if (!isOwedAnyway && tokens() < need) return verdict(false, needAgain)
    known = { ...known, level: known.level + need + owed }
    return verdict(true)
  }

  /** Returns the leased tokens, and asks for those that `requests` since the last call let expect. */
  function renewal(
    requests: number,
    sentAt: number,
  ): Pick<TokenLeaseRequest, 'extra' | 'returned' | 'known'> & RateLimit {
    known = drain(known, limit, sentAt)
    // The requests expected during a lease, at the pace since the last call; at most twice the requests since then.
    const extra = Math.floor(requests * Math.min(2, LEASE_MS / (sentAt - leasedAt)))
    const returned = leased
    leased = 0
    leasedAt = sentAt
    return { ...limit, extra, returned, known: known.level }
  }

  function accept(lease: TokenLease, sentAt: number): void {
    known = { level: lease.known, atMs: sentAt }
    const isLate = nowMs() >= sentAt + LEASE_MS
    leased = lease.granted + (isLate ? 0 : lease.advance)
  }

  return {
    tokens,
    verdict,
    setLimit,
    takeLeased,
    hasTokensFor,
    takeWithoutRedis,
    renewal,
    accept,
    hasLeased: () => leased > 0,
    isLeaseValid: () => leased > 0 && nowMs() < leasedAt + LEASE_MS,
    /** Returns true if tokens are left of the lease that was sent for at this instant. */
    hasLeasedAt: (sentAt: number) => leased > 0 && leasedAt === sentAt,
  }
}

/**
 * Takes tokens of one key. Recent requests decide how many are leased in advance; without a leased one, a request waits
 * for Redis. An empty bucket needs no call until its next token. Without Redis, the gateway continues with the last
 * known level.
 */
function createTake(askForLease: AskForLease, nowMs: () => number): Take {
  const bucket = createLocalBucket(nowMs)
  let requests = 0
  let waiting = 0
  let batches: WaitingBatch[] = []
  let asking: Promise<TokenLease | undefined> | undefined

  async function ask(): Promise<TokenLease | undefined> {
    // Requests of one moment share a call.
    await Promise.resolve()
    const sentAt = nowMs()
    const sent = batches
    const request = { ...bucket.renewal(requests, sentAt), need: waiting, batches: sent }
    batches = []
    requests = 0
    const lease = await askForLease(request)
    waiting = 0
    asking = undefined
    if (!lease) return undefined
    sent.forEach((batch, index) => (batch.hasPassed = lease.passed[index] === '1'))
    bucket.accept(lease, sentAt)
    if (lease.advance > 0) setTimeout(() => giveBack(sentAt), LEASE_MS).unref()
    return lease
  }

  function giveBack(sentAt: number): void {
    if (bucket.hasLeasedAt(sentAt)) asking ??= ask()
  }

  /** Takes all or nothing, and never from a lease: leased tokens go back with the call. */
  async function takeBatch(wanted: BatchTokens): Promise<RateLimitVerdict> {
    // A retry takes its first token again.
    const needAgain = wanted.need + 1
    for (let calls = 0; calls < MAX_CALLS && bucket.hasTokensFor(wanted); calls += 1) {
      const batch: WaitingBatch = { ...wanted }
      batches.push(batch)
      let lease = await (asking ??= ask())
      // The batch came too late for the call in flight.
      if (lease && batch.hasPassed === undefined) lease = await (asking ??= ask())
      if (batch.hasPassed) return bucket.verdict(true)
      if (!lease) {
        batches = batches.filter((one) => one !== batch)
        return bucket.takeWithoutRedis(batch, needAgain)
      }
      if (lease.retryInMs > 0) await sleep(lease.retryInMs)
    }
    return bucket.verdict(false, needAgain)
  }

  async function takeOne(): Promise<RateLimitVerdict> {
    requests += 1
    if (bucket.isLeaseValid()) return bucket.takeLeased()
    for (let calls = 0; calls < MAX_CALLS && bucket.tokens() >= 1; calls += 1) {
      waiting += 1
      const lease = await (asking ??= ask())
      if (!lease) return bucket.takeWithoutRedis({ need: 1, owed: 0 }, 1)
      if (bucket.hasLeased()) return bucket.takeLeased()
      if (lease.retryInMs > 0) await sleep(lease.retryInMs)
    }
    return bucket.verdict(false)
  }

  return (limit, batch) => {
    bucket.setLimit(limit)
    return batch ? takeBatch(batch) : takeOne()
  }
}
