import { randomUUID } from 'node:crypto'
import { type DeliveredForm, NextFeedback, VisitAnswered } from '@nextvisit/contracts'
import { z } from 'zod'
import type { IdempotentRequest } from './idempotent-request.ts'

/** An ioredis client, whose `commandTimeout` bounds each command. */
interface ScriptRunner {
  readonly eval: (script: string, keys: number, ...given: (string | number)[]) => Promise<unknown>
}

/** The request whose answer is kept. */
type KeptRequest = Pick<IdempotentRequest, 'recordId' | 'name'>

const KeptAnswer = z.object({
  status: z.number(),
  body: z.looseObject({}),
  confirms: VisitAnswered.optional(),
  form: NextFeedback.omit({ content: true }).optional(),
})
/** The answer to a repeat, the fact that it confirms, and the form that it delivers, without the content of the form. */
interface KeptAnswer {
  readonly status: number
  readonly body: object
  readonly confirms?: VisitAnswered | undefined
  readonly form?: DeliveredForm | undefined
}

/** The right to answer a request, until `keep`, `release`, `abandon` or its expiry. None of the three rejects. */
export interface IdempotencyLock {
  readonly outcome: 'locked'
  /** True if an earlier lock of the same request expired or was released: its record may be in the log. */
  readonly isRetry: boolean
  /** Keeps the answer for repeats, for 24 h. */
  readonly keep: (answer: KeptAnswer) => Promise<void>
  /** Frees the key for the same request only: its record may be in the log. */
  readonly release: () => Promise<void>
  /** Frees the key for any request: this one left nothing behind. */
  readonly abandon: () => Promise<void>
}

export type LockResult =
  | IdempotencyLock
  | { readonly outcome: 'answered'; readonly answer: KeptAnswer }
  /** Another request holds the lock. */
  | { readonly outcome: 'running' }
  /** The key belongs to another body or route. */
  | { readonly outcome: 'taken' }

export type KeptAnswers = ReturnType<typeof createKeptAnswers>

const KEPT_MS = 24 * 3_600_000

/** Lock of a request without an `Idempotency-Key`. */
const NOTHING_KEPT: IdempotencyLock = {
  outcome: 'locked',
  isRetry: false,
  keep: async () => undefined,
  release: async () => undefined,
  abandon: async () => undefined,
}

/** Uses the clock of Redis, which all gateways share. */
const BEGIN = `local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local record, holder, as, runs_until, answer =
  unpack(redis.call('HMGET', KEYS[1], 'record', 'holder', 'as', 'runs_until', 'answer'))
if record and record ~= ARGV[1] then return {'taken'} end
if answer then return {'answered', answer} end
if holder == ARGV[2] then return {as} end
if runs_until and tonumber(runs_until) > now then return {'running'} end
as = record and 'retry' or 'first'
redis.call('HSET', KEYS[1], 'record', ARGV[1], 'holder', ARGV[2], 'as', as, 'runs_until', now + ARGV[3])
redis.call('PEXPIRE', KEYS[1], ARGV[4])
return {as}`

/** These scripts act for the holder only: another gateway may hold the lock by now. */
const KEEP = `if redis.call('HGET', KEYS[1], 'holder') ~= ARGV[1] then return end
redis.call('HSET', KEYS[1], 'answer', ARGV[2])
redis.call('PEXPIRE', KEYS[1], ARGV[3])`
const RELEASE = `if redis.call('HGET', KEYS[1], 'holder') == ARGV[1] then redis.call('HSET', KEYS[1], 'runs_until', 0) end`
const ABANDON = `if redis.call('HGET', KEYS[1], 'holder') == ARGV[1] then redis.call('DEL', KEYS[1]) end`

const BeginReply = z.union([
  z.tuple([z.enum(['first', 'retry', 'running', 'taken'])]),
  z.tuple([z.literal('answered'), z.string()]),
])

/**
 * Keeps the answers to requests with an `Idempotency-Key` in Redis, for all gateways (decisions.md, Retries). Redis may
 * be emptied at any moment, since consumers drop duplicates, too.
 */
export function createKeptAnswers(redis: ScriptRunner, keyPrefix: string, requestBudgetMs: number) {
  // Longer than any request runs, so only locks of dead gateways expire.
  const lockMs = requestBudgetMs + 1_000

  /** Runs a script, and retries it once, since a busy process may time out early. All scripts here can be repeated. */
  async function run(script: string, { name }: KeptRequest, ...given: (string | number)[]): Promise<unknown> {
    const evaluate = () => redis.eval(script, 1, `${keyPrefix}answer:${name}`, ...given)
    return evaluate().catch(evaluate)
  }

  function lockOf(request: KeptRequest, holder: string, isRetry: boolean): IdempotencyLock {
    const end = async (script: string, ...given: (string | number)[]) => {
      // A lock that cannot be ended expires.
      await run(script, request, holder, ...given).catch(() => undefined)
    }
    return {
      outcome: 'locked',
      isRetry,
      keep: ({ status, body, confirms, form }) => end(KEEP, JSON.stringify({ status, body, confirms, form }), KEPT_MS),
      release: () => end(RELEASE),
      abandon: () => end(ABANDON),
    }
  }

  return {
    /**
     * Locks a request, or finds its kept answer. Never rejects: without Redis every request gets a lock, and none is
     * kept.
     */
    lock: async (request: KeptRequest | 'none'): Promise<LockResult> => {
      if (request === 'none') return NOTHING_KEPT
      const holder = randomUUID()
      try {
        const reply = await run(BEGIN, request, request.recordId, holder, lockMs, KEPT_MS)
        const [state, kept] = BeginReply.parse(reply)
        if (state === 'answered') return { outcome: state, answer: KeptAnswer.parse(JSON.parse(kept)) }
        if (state === 'running' || state === 'taken') return { outcome: state }
        return lockOf(request, holder, state === 'retry')
      } catch {
        // A script that timed out may have run. If so, this request holds the lock, and ends it.
        return lockOf(request, holder, false)
      }
    },
  }
}
