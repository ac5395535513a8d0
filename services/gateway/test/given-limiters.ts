import { randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import type { RateLimit } from '@nextvisit/contracts'
import { createLogger, createRedis } from '@nextvisit/service-kit'
import { inject, onTestFinished } from 'vitest'
import type { RateLimiter } from '../src/billing/rate-limiter.ts'
import { createSharedRateLimiter } from '../src/billing/shared-rate-limiter.ts'

interface LimiterOptions {
  readonly redisUrl?: string
  readonly keyPrefix?: string
  /** Default: practically endless, since a busy machine is not an outage. */
  readonly patienceMs?: number
  /** Delay of each answer of Redis. Default: none. */
  readonly lateByMs?: () => number
  /** The time of the gateway and of Redis, in ms. Default: their own clocks. */
  readonly clock?: Clock
}

/** A clock that stands still until a spec moves it, so that no delay of a busy machine counts. */
interface Clock {
  nowMs: number
}

type GivenLimiter = Awaited<ReturnType<typeof givenLimiter>>

/** The limiter of one gateway, with its own Redis connection and id. */
export async function givenLimiter(options: LimiterOptions = {}) {
  const { redisUrl = inject('redisUrl'), keyPrefix = newPrefix(), patienceMs = 5_000, lateByMs, clock } = options
  const lines: string[] = []
  const logger = createLogger('rate-limit-test', 'info', {
    write: (line: string) => void lines.push((JSON.parse(line) as { msg: string }).msg),
  })
  const quiet = createLogger('rate-limit-test', 'silent')
  const { client, start, stop } = createRedis({
    url: redisUrl,
    name: 'rate-limit-test',
    logger: quiet,
    commandTimeoutMs: 5_000,
  })
  await start()
  onTestFinished(stop)
  let asked = 0
  const limiter = createSharedRateLimiter({
    redis: {
      eval: async (script, keyCount, ...given) => {
        asked += 1
        const answer = clock
          ? await client.eval(withTimeGiven(script), keyCount, ...given, String(clock.nowMs))
          : await client.eval(script, keyCount, ...given)
        if (lateByMs) await sleep(lateByMs())
        return answer
      },
    },
    keyPrefix,
    instanceId: randomUUID(),
    nowMs: () => clock?.nowMs ?? performance.now(),
    logger,
    patienceMs,
  })
  return { ...limiter, client, lines, asked: () => asked, redisKey: `${keyPrefix}rate:key` }
}

/** Returns the script with an argument, in ms, for the time of Redis. Its keys live longer than a spec. */
function withTimeGiven(script: string): string {
  const changed = script
    .replace("redis.call('TIME')", '{ 0, ARGV[2] * 1000 }')
    .replace("string.format('%.0f', fullInMs)", '600000')
  if (changed.split(/ARGV\[2\]|600000/).length !== 3) throw new Error('The script reads the time elsewhere.')
  return changed
}

/** Limiters of two gateways with shared buckets. */
export async function givenTwoLimiters(
  options: Pick<LimiterOptions, 'clock'> = {},
): Promise<readonly [GivenLimiter, GivenLimiter]> {
  const shared = { ...options, keyPrefix: newPrefix() }
  return [await givenLimiter(shared), await givenLimiter(shared)]
}

export function newPrefix(): string {
  return `test:${randomUUID()}:`
}

export interface Taken {
  readonly isAllowed: boolean
  readonly beganMs: number
  readonly endedMs: number
}

/** Takes a token of the bucket `key`, and measures the time. */
export async function take(limiter: RateLimiter, limit: RateLimit, clock?: Clock): Promise<Taken> {
  const nowMs = () => clock?.nowMs ?? performance.now()
  const beganMs = nowMs()
  const { isAllowed } = await limiter.take('key', limit)
  return { isAllowed, beganMs, endedMs: nowMs() }
}

/** Takes from all limiters, `atOnce` from each, every few milliseconds. */
export async function flood(limiters: readonly RateLimiter[], limit: RateLimit, load: { ms: number; atOnce: number }) {
  const takes: Promise<Taken>[] = []
  const endAt = performance.now() + load.ms
  while (performance.now() < endAt) {
    for (let i = 0; i < load.atOnce; i += 1) for (const limiter of limiters) takes.push(take(limiter, limit))
    await sleep(Math.random() * 10)
  }
  return Promise.all(takes)
}

/** Takes tokens one after the other; returns how many takes are allowed. */
export async function countAllowed(limiter: RateLimiter, limit: RateLimit, times: number): Promise<number> {
  let allowed = 0
  for (let i = 0; i < times; i += 1) if ((await limiter.take('key', limit)).isAllowed) allowed += 1
  return allowed
}

/** Returns the largest excess over burst + perSecond × length in any window. */
export function worstExcess(takes: readonly Taken[], { perSecond, burst }: RateLimit): number {
  const passes = takes.filter(({ isAllowed }) => isAllowed).toSorted((a, b) => a.endedMs - b.endedMs)
  let worst = Number.NEGATIVE_INFINITY
  for (const first of passes.keys()) {
    let beganMs = Number.POSITIVE_INFINITY
    for (const [index, pass] of passes.slice(first).entries()) {
      // A token may be issued at any moment of its take.
      beganMs = Math.min(beganMs, pass.beganMs)
      worst = Math.max(worst, index + 1 - burst - (perSecond * (pass.endedMs - beganMs)) / 1_000)
    }
  }
  return worst
}
