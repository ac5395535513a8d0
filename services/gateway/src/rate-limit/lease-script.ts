import { createHash } from 'node:crypto'

/** How long a gateway may use what it leased, by its own clock from before it asked. */
export const LEASE_MS = 200
/** Redis counts it as held for longer: time for the rest to come back. */
const HELD_MS = LEASE_MS + 50

/**
 * One bucket in Redis (see bucket.ts for `level`): a hash of `level`, `at` (ms, Redis' own clock) and, for each gateway
 * that holds tokens it has not used yet, `held:<gateway>` = `<tokens>:<until>`.
 *
 * Held tokens are part of `level`, which therefore never drains below their sum: they may still be used, so the tokens
 * that would take their place must not come back before. With that, passed requests never exceed burst + perSecond × time,
 * however late a leased token is used.
 *
 * Each call states what its gateway still holds, so whatever a lost answer had granted is merely spent.
 */
const LEASE = `
local burst, perSecond, gateway = tonumber(ARGV[1]), tonumber(ARGV[2]), 'held:' .. ARGV[3]
local need, extra = tonumber(ARGV[4]), tonumber(ARGV[5])
local kept, returned = tonumber(ARGV[6]), tonumber(ARGV[7])
local levelThere, owed = tonumber(ARGV[8]), tonumber(ARGV[9])
local time = redis.call('TIME')
local now = time[1] * 1000 + time[2] / 1000

-- A gateway knows what passed through it: a Redis that was emptied goes on from there.
local level, at, held, holds = levelThere, now, 0, {}
local fields = redis.call('HGETALL', KEYS[1])
for i = 1, #fields, 2 do
  local name, value = fields[i], fields[i + 1]
  if name == 'level' then level = tonumber(value)
  elseif name == 'at' then at = tonumber(value)
  else
    local tokens, ends = value:match('^(%d+):(%d+)$')
    holds[#holds + 1] = { name = name, tokens = tonumber(tokens), ends = tonumber(ends) }
    held = held + tonumber(tokens)
  end
end

-- A bucket can't be emptier than empty, also where its burst was lowered.
level = math.max(held, math.min(level, burst))
local function drainTo(moment)
  if moment > at then
    level = math.max(held, level - (moment - at) / 1000 * perSecond)
    at = moment
  end
end
table.sort(holds, function(a, b) return a.ends < b.ends end)
local mine, othersEnd = 0, now
for _, hold in ipairs(holds) do
  if hold.ends <= now then
    drainTo(hold.ends)
    held = held - hold.tokens
    redis.call('HDEL', KEYS[1], hold.name)
  elseif hold.name == gateway then mine = hold.tokens
  else othersEnd = hold.ends
  end
end
drainTo(now)
level = math.max(level, math.min(level + owed, burst))

-- What is returned too late was counted as spent, and has drained: it would be counted twice.
level = level - math.max(0, math.min(returned, mine - kept))
local free = burst - level
local granted = math.max(0, math.min(need, math.floor(free + 1e-9)))
free = free - granted
-- In advance only from the upper half, and half of that: a bucket that runs low is given out one by one.
local advance = math.max(0, math.min(extra, math.floor((free - burst / 2) / 2)))
level = level + granted + advance

redis.call('HSET', KEYS[1], 'level', string.format('%.17g', level), 'at', string.format('%.3f', now))
if kept + advance > 0 then
  redis.call('HSET', KEYS[1], gateway, string.format('%d:%.0f', kept + advance, math.ceil(now) + ${HELD_MS}))
else
  redis.call('HDEL', KEYS[1], gateway)
end
redis.call('PEXPIRE', KEYS[1], string.format('%.0f', math.min(level / perSecond * 1000 + 1000, 2147483647)))
return { granted, advance, string.format('%.17g', level), math.ceil(othersEnd - now) }
`
const LEASE_SHA = createHash('sha1').update(LEASE).digest('hex')

/** What this needs of Redis (ioredis fits). */
export interface ScriptRunner {
  readonly eval: (script: string, keyCount: number, ...given: (string | number)[]) => Promise<unknown>
  readonly evalsha: (sha: string, keyCount: number, ...given: (string | number)[]) => Promise<unknown>
}

/** Rejects with Redis' own errors. A Redis that was restarted is given the script again. */
export async function runLeaseScript(redis: ScriptRunner, key: string, given: (string | number)[]): Promise<unknown> {
  try {
    return await redis.evalsha(LEASE_SHA, 1, key, ...given)
  } catch (error) {
    if (error instanceof Error && error.message.startsWith('NOSCRIPT')) return redis.eval(LEASE, 1, key, ...given)
    throw error
  }
}
