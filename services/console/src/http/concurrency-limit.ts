import type { ApiRefusal, ApiResult } from './api-route.ts'
import type { Session } from './sessions.ts'

/** Limits the requests of each session that run at the same time. Answers further ones with `refusal`. */
export function createConcurrencyLimit(limit: number, refusal: ApiRefusal) {
  const running = new WeakMap<Session, number>()

  return async <Answer>(session: Session, run: () => Promise<ApiResult<Answer>>): Promise<ApiResult<Answer>> => {
    const others = running.get(session) ?? 0
    if (others >= limit) return refusal
    running.set(session, others + 1)
    try {
      return await run()
    } finally {
      running.set(session, (running.get(session) ?? 1) - 1)
    }
  }
}
