import type { RateLimit } from '@nextvisit/contracts'
import { z } from 'zod'
import type { BatchTokens } from './rate-limiter.ts'

/** Lifetime of leased tokens in ms, by the gateway's clock and from before it asked. */
export const LEASE_MS = 200
/** Redis counts tokens as held for longer in ms, so that unused ones can return. */
const HELD_MS = LEASE_MS + 50

/**
 * Redis stores the `level` of a bucket (see rate-limiter.ts) at a time of its own clock, and for each gateway the
 * number of tokens that it holds in advance, with their end.
 *
 * Leased tokens count as spent, and the level does not drain below the held tokens: they may still be used, so their
 * replacements must not appear earlier. Thus no more than burst + perSecond × time pass. Tokens that are lost with an
 * answer or a gateway stay spent.
 */
export const LEASE_SCRIPT = `
local ask = cjson.decode(ARGV[1])
local stored, time = redis.call('GET', KEYS[1]), redis.call('TIME')
local bucket = stored and cmsgpack.unpack(stored) or { level = 0, at = 0, holds = {} }
local now = time[1] * 1000 + time[2] / 1000

-- The clock went back, as after a failover. Nothing would drain until it is where it was.
if bucket.at > now then
  bucket.at = now
  for _, hold in pairs(bucket.holds) do hold.ends = math.min(hold.ends, now + ${HELD_MS}) end
end

local mine, others, ended, othersEnd, lastEnd = 0, 0, 0, now, bucket.at
for gateway, hold in pairs(bucket.holds) do
  if hold.ends <= now then
    ended, lastEnd = ended + hold.tokens, math.max(lastEnd, hold.ends)
    bucket.holds[gateway] = nil
  elseif gateway == ask.gateway then mine = hold.tokens
  else others, othersEnd = others + hold.tokens, math.max(othersEnd, hold.ends)
  end
end
local level = math.max(mine + others + ended, bucket.level - (lastEnd - bucket.at) / 1000 * ask.perSecond)
level = math.max(mine + others, level - (now - lastEnd) / 1000 * ask.perSecond)
-- The gateway knows more after Redis was emptied, or after requests passed without Redis.
level = math.max(level, ask.known)
-- Tokens that come back after their lease ended may have been replaced already.
level = level - math.min(ask.returned, mine)
-- A changed limit begins with a bucket that is at most empty.
if bucket.burst ~= ask.burst then level = math.min(level, ask.burst) end

local free = ask.burst - level
local granted = math.max(0, math.min(ask.need, math.floor(free + 1e-9)))
free = free - granted
local passed, owed = '', 0
for _, batch in ipairs(ask.batches) do
  local fits = batch.isOwedAnyway or batch.need <= free + 1e-9
  if fits then free, owed = free - batch.need, owed + batch.owed end
  passed = passed .. (fits and '1' or '0')
end
free = free - owed
-- Leases at most half of the tokens above the middle: tokens of a nearly empty bucket are given out one by one.
local advance = math.max(0, math.min(ask.extra, math.floor((free - ask.burst / 2) / 2)))
level = ask.burst - free + advance
bucket.holds[ask.gateway] = advance > 0 and { tokens = advance, ends = now + ${HELD_MS} } or nil

local fullInMs = math.min(level / ask.perSecond * 1000 + 1000, 2147483647)
local changed = cmsgpack.pack({ level = level, at = now, burst = ask.burst, holds = bucket.holds })
redis.call('SET', KEYS[1], changed, 'PX', string.format('%.0f', fullInMs))
local lacks = granted < ask.need or string.find(passed, '0') ~= nil
local retryInMs = lacks and math.ceil(othersEnd - now) or 0
return cjson.encode({ granted = granted, passed = passed, advance = advance, known = level - others, retryInMs = retryInMs })
`

/**
 * Asks for `need` tokens for waiting requests, the tokens of each of `batches`, and `extra` in advance. `returned` are
 * the unused tokens of the previous lease. The level of the bucket is at least `known`.
 */
export interface TokenLeaseRequest extends RateLimit {
  readonly need: number
  readonly batches: readonly BatchTokens[]
  readonly extra: number
  readonly returned: number
  readonly known: number
}

/**
 * Grants `granted` of `need`, `passed` (1 or 0 for each batch), and `advance` of `extra` for `LEASE_MS`. `known` is the
 * level after other gateways return all that they hold, which takes `retryInMs`; 0 if that would not help.
 */
export const TokenLease = z
  .string()
  .transform((json): unknown => JSON.parse(json))
  .pipe(
    z.object({
      granted: z.number(),
      passed: z.string(),
      advance: z.number(),
      known: z.number(),
      retryInMs: z.number(),
    }),
  )
export type TokenLease = z.infer<typeof TokenLease>
