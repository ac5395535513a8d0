import type { Session } from './sessions.ts'
import type { ApiRefusal, ApiResult } from './api-route.ts'

/** Limits the concurrent work of each session to `most`. Answers further work with `refusal`. */
export function createAtATime(most: number, refusal: ApiRefusal) {
  const running = new WeakMap<Session, number>()

  return async <Answer>(session: Session, work: () => Promise<ApiResult<Answer>>): Promise<ApiResult<Answer>> => {
    const others = running.get(session) ?? 0
    if (others >= most) return refusal
    running.set(session, others + 1)
    try {
      return await work()
    } finally {
      running.set(session, (running.get(session) ?? 1) - 1)
    }
  }
}
