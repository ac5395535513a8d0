import type { ApiRefusal, ApiResult } from './api-route.ts'
import type { Role } from './define-route.ts'
import type { Session } from './sessions.ts'

/** Maximum number of requests at the same time. */
interface RequestLimits {
  /** Including waiting ones. */
  readonly ofSession: number
  /** Of all sessions of a role together: a viewer can open many sessions, and must not stop operators. */
  readonly ofRole: number
  /** Time in ms that a request waits for a turn of its role. Default: 0. */
  readonly waitMs?: number
}

/** Limits the requests that run at the same time, by session and by role. Answers further ones with `refusal`. */
export function createRequestLimit({ ofSession, ofRole, waitMs = 0 }: RequestLimits, refusal: ApiRefusal) {
  /** By the id of the session. */
  const requests = new Map<string, number>()
  const turns: { readonly [Name in Role]: Turns } = { viewer: createTurns(ofRole), operator: createTurns(ofRole) }

  function end({ id }: Session): void {
    const left = (requests.get(id) ?? 1) - 1
    if (left > 0) requests.set(id, left)
    else requests.delete(id)
  }

  return async <Answer>(
    session: Session,
    signal: AbortSignal,
    run: () => Promise<ApiResult<Answer>> | ApiResult<Answer>,
  ): Promise<ApiResult<Answer>> => {
    const others = requests.get(session.id) ?? 0
    if (others >= ofSession) return refusal
    requests.set(session.id, others + 1)
    const { take, pass } = turns[session.role]
    try {
      if (!(await take(waitMs, signal))) return refusal
      try {
        return await run()
      } finally {
        pass()
      }
    } finally {
      end(session)
    }
  }
}

interface Turns {
  /** Resolves to true when it is the caller's turn; to false after `waitMs`, or when the caller leaves. */
  readonly take: (waitMs: number, signal: AbortSignal) => Promise<boolean> | boolean
  /** Ends a turn. The caller that has waited longest is next. */
  readonly pass: () => void
}

function createTurns(limit: number): Turns {
  const waiting = new Set<() => void>()
  let running = 0

  const wait = (waitMs: number, signal: AbortSignal) =>
    new Promise<boolean>((resolve) => {
      const settle = (isTurn: boolean): void => {
        clearTimeout(timer)
        signal.removeEventListener('abort', leave)
        waiting.delete(begin)
        resolve(isTurn)
      }
      const begin = (): void => settle(true)
      const leave = (): void => settle(false)
      const timer = setTimeout(leave, waitMs)
      signal.addEventListener('abort', leave)
      waiting.add(begin)
    })

  return {
    take: (waitMs, signal) => {
      if (running >= limit) return waitMs > 0 && !signal.aborted && wait(waitMs, signal)
      running += 1
      return true
    },
    pass: () => {
      const [next] = waiting
      if (next) next()
      else running -= 1
    },
  }
}
