import type { ApiRoute } from '../src/http/api-route.ts'
import type { Role } from '../src/http/define-route.ts'
import { createSessions, type Session } from '../src/http/sessions.ts'

/** Opens a session at the time 0. */
export function givenSession(role: Role, name = 'Ada'): Session {
  return createSessions(() => 0).open(role, { name, host: 'localhost:8081', address: '127.0.0.1' })
}

/** Calls a route in a request that stays open. */
export async function callRoute({ handle }: Pick<ApiRoute, 'handle'>, input: object, session: Session) {
  return handle(input, session, new AbortController().signal)
}
