import { randomUUID } from 'node:crypto'
import { z } from 'zod'
import { REQUEST_BUDGET_MS } from '../budget.ts'
import type { KeyedRequest } from './keyed-request.ts'

/** What this needs of Redis (ioredis fits). Commands are bounded by its own `commandTimeout`. */
export interface AnswerStore {
  readonly eval: (script: string, keys: number, ...given: (string | number)[]) => Promise<unknown>
}

const KeptAnswer = z.object({ status: z.number(), body: z.looseObject({}) })
/** What a repeat is answered with. */
export interface KeptAnswer {
  readonly status: number
  readonly body: object
}

/** The right to answer, until it is settled or runs out. */
export interface Claim {
  readonly outcome: 'claimed'
  /** Somebody had claimed the same request before and never settled it: its record may be in the log. */
  readonly isRetry: boolean
  /** Repeats get this answer for 24 h. */
  readonly keep: (answer: KeptAnswer) => Promise<void>
  /** The request left nothing behind: the key is free for any other. */
  readonly forget: () => Promise<void>
  /** The request may have left its record behind: the key is free for the same request only. */
  readonly letGo: () => Promise<void>
}

export type Claimed =
  | Claim
  | { readonly outcome: 'answered'; readonly answer: KeptAnswer }
  /** `running`: by another request. `taken`: the key was used with another body or route. */
  | { readonly outcome: 'running' | 'taken' }

export interface KeptAnswers {
  /** Never rejects, and neither does what it gives: without Redis every request is claimed, and nothing is kept. */
  readonly claim: (request: KeyedRequest) => Promise<Claimed>
}

const KEPT_MS = 24 * 3_600_000

/** Longer than any request runs, so that only one whose gateway died is claimed again while it "runs". */
const RUNS_MS = REQUEST_BUDGET_MS + 1_000

/** The instant, in ms, by the one clock that all gateways share. */
const NOW = `local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)`

const CLAIM = `${NOW}
local record, owner, as, runs_until, answer =
  unpack(redis.call('HMGET', KEYS[1], 'record', 'owner', 'as', 'runs_until', 'answer'))
if record and record ~= ARGV[1] then return {'taken'} end
if answer then return {'answered', answer} end
if owner == ARGV[2] then return {as} end
if runs_until and tonumber(runs_until) > now then return {'running'} end
as = record and 'retry' or 'first'
redis.call('HSET', KEYS[1], 'record', ARGV[1], 'owner', ARGV[2], 'as', as, 'runs_until', now + ARGV[3])
redis.call('PEXPIRE', KEYS[1], ARGV[4])
return {as}`

/** Each of these is for the owner alone: a gateway that slept may find that another one has claimed the request since. */
const KEEP = `if redis.call('HGET', KEYS[1], 'owner') ~= ARGV[1] then return end
redis.call('HSET', KEYS[1], 'answer', ARGV[2])
redis.call('PEXPIRE', KEYS[1], ARGV[3])`
const FORGET = `if redis.call('HGET', KEYS[1], 'owner') == ARGV[1] then redis.call('DEL', KEYS[1]) end`
const LET_GO = `if redis.call('HGET', KEYS[1], 'owner') == ARGV[1] then redis.call('HSET', KEYS[1], 'runs_until', 0) end`

const ClaimReply = z.union([
  z.tuple([z.enum(['first', 'retry', 'running', 'taken'])]),
  z.tuple([z.literal('answered'), z.string()]),
])

/**
 * The memory of answers to keyed requests, in Redis for all gateways (decisions.md, Retries). It may be emptied at any
 * moment: consumers drop a second copy all the same.
 */
export function createKeptAnswers(redis: AnswerStore, keyPrefix: string): KeptAnswers {
  /** Once more where it fails, as all of these may be: to a busy process a quick Redis looks like a slow one. */
  async function run(script: string, { name }: KeyedRequest, ...given: (string | number)[]): Promise<unknown> {
    const evaluate = () => redis.eval(script, 1, `${keyPrefix}answer:${name}`, ...given)
    return evaluate().catch(evaluate)
  }

  function claimed(request: KeyedRequest, owner: string, isRetry: boolean): Claim {
    const settle = async (script: string, ...given: (string | number)[]) => {
      // What can't be settled runs out.
      await run(script, request, owner, ...given).catch(() => undefined)
    }
    return {
      outcome: 'claimed',
      isRetry,
      keep: ({ status, body }) => settle(KEEP, JSON.stringify({ status, body }), KEPT_MS),
      forget: () => settle(FORGET),
      letGo: () => settle(LET_GO),
    }
  }

  return {
    claim: async (request) => {
      const owner = randomUUID()
      try {
        const [state, kept] = ClaimReply.parse(await run(CLAIM, request, request.recordId, owner, RUNS_MS, KEPT_MS))
        if (state === 'answered') return { outcome: state, answer: KeptAnswer.parse(JSON.parse(kept)) }
        if (state === 'running' || state === 'taken') return { outcome: state }
        return claimed(request, owner, state === 'retry')
      } catch {
        // What timed out may have been carried out: if so, this is the owner, and settles.
        return claimed(request, owner, false)
      }
    },
  }
}
