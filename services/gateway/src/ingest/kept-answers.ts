import { randomUUID } from 'node:crypto'
import { VisitAnswered } from '@nextvisit/contracts'
import { z } from 'zod'
import type { IdempotentRequest } from '../http/idempotent-request.ts'

/** What this needs of Redis (ioredis fits). Commands are bounded by its own `commandTimeout`. */
interface ScriptRunner {
  readonly eval: (script: string, keys: number, ...given: (string | number)[]) => Promise<unknown>
}

/** The request whose answer is kept. */
type KeptRequest = Pick<IdempotentRequest, 'recordId' | 'name'>

const KeptAnswer = z.object({ status: z.number(), body: z.looseObject({}), confirms: VisitAnswered.optional() })
/** What a repeat is answered with, and what that confirms. */
interface KeptAnswer {
  readonly status: number
  readonly body: object
  readonly confirms?: VisitAnswered | undefined
}

/** The right to answer a request, until one of its three ends or until it expires. None of them rejects. */
export interface IdempotencyLock {
  readonly outcome: 'locked'
  /** Another lock of the same request expired or was released: its record may be in the log. */
  readonly isRetry: boolean
  /** Repeats get this answer for 24 h. */
  readonly keep: (answer: KeptAnswer) => Promise<void>
  /** The request may have left its record in the log: the key is free for the same request only. */
  readonly release: () => Promise<void>
  /** The request left nothing behind: the key is free for any other. */
  readonly abandon: () => Promise<void>
}

export type Begun =
  | IdempotencyLock
  | { readonly outcome: 'answered'; readonly answer: KeptAnswer }
  /** Another request has the lock. */
  | { readonly outcome: 'running' }
  /** The key was used with another body or route. */
  | { readonly outcome: 'taken' }

export type KeptAnswers = ReturnType<typeof createKeptAnswers>

const KEPT_MS = 24 * 3_600_000

/** Of a request without an `Idempotency-Key`. */
const NOTHING_KEPT: IdempotencyLock = {
  outcome: 'locked',
  isRetry: false,
  keep: async () => undefined,
  release: async () => undefined,
  abandon: async () => undefined,
}

/** The time is of the one clock that all gateways share. */
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

/** Each of these is for the holder alone: another gateway may have the lock by now. */
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
 * The memory of answers to idempotent requests, in Redis for all gateways (decisions.md, Retries). It may be emptied at
 * any moment: consumers drop a duplicate all the same.
 */
export function createKeptAnswers(redis: ScriptRunner, keyPrefix: string, requestBudgetMs: number) {
  // Longer than any request runs: only the lock of a gateway that died expires.
  const lockMs = requestBudgetMs + 1_000

  /** Runs a script twice where it fails, which all of these allow: a busy process takes a quick Redis for a slow one. */
  async function run(script: string, { name }: KeptRequest, ...given: (string | number)[]): Promise<unknown> {
    const evaluate = () => redis.eval(script, 1, `${keyPrefix}answer:${name}`, ...given)
    return evaluate().catch(evaluate)
  }

  function lock(request: KeptRequest, holder: string, isRetry: boolean): IdempotencyLock {
    const end = async (script: string, ...given: (string | number)[]) => {
      // A lock that can't be ended expires.
      await run(script, request, holder, ...given).catch(() => undefined)
    }
    return {
      outcome: 'locked',
      isRetry,
      keep: ({ status, body, confirms }) => end(KEEP, JSON.stringify({ status, body, confirms }), KEPT_MS),
      release: () => end(RELEASE),
      abandon: () => end(ABANDON),
    }
  }

  return {
    /** Never rejects: without Redis every request gets a lock, and nothing is kept. */
    begin: async (request: KeptRequest | 'none'): Promise<Begun> => {
      if (request === 'none') return NOTHING_KEPT
      const holder = randomUUID()
      try {
        const reply = await run(BEGIN, request, request.recordId, holder, lockMs, KEPT_MS)
        const [state, kept] = BeginReply.parse(reply)
        if (state === 'answered') return { outcome: state, answer: KeptAnswer.parse(JSON.parse(kept)) }
        if (state === 'running' || state === 'taken') return { outcome: state }
        return lock(request, holder, state === 'retry')
      } catch {
        // What timed out may have been carried out: if so, this is the holder, and ends the lock.
        return lock(request, holder, false)
      }
    },
  }
}
