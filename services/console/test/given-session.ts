import type { ApiRoute } from '../src/http/api-route.ts'
import type { Role } from '../src/http/define-route.ts'
import { type Session } from '../src/http/sessions.ts'

let count = 0

/** Creates a session that is kept nowhere. */
export function givenSession(role: Role, name = 'Ada'): Session {
  const names = new Set<string>()
  return {
    id: `session ${(count += 1)}`,
    role,
    name,
    isVerified: false,
    subject: null,
    logName: 'a1',
    expiresAtMs: 0,
    revealed: { add: async (one) => void names.add(one), has: (one) => names.has(one) },
  }
}

/** Calls a route in a request that stays open. */
export async function callRoute({ handle }: Pick<ApiRoute, 'handle'>, input: object, session: Session) {
  return handle(input, session, new AbortController().signal)
}
