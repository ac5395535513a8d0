import { randomBytes } from 'node:crypto'
import type { Role } from '../http/define-route.ts'
import { createRevealed, type Revealed } from './revealed.ts'

/** Somebody who has signed in. */
export interface Session {
  /** What the cookie holds. */
  readonly id: string
  readonly role: Role
  readonly name: string
  readonly expiresAtMs: number
  /** Names the session in the log; nobody can use it. */
  readonly logName: string
  /** Whose personal data a viewer has asked for: users, `organization/project/userId`, members of segments, and dead letters, `metering/12`. */
  readonly revealed: Revealed
}

export interface Sessions {
  readonly open: (role: Role, name: string) => Session
  readonly find: (id: string | undefined) => Session | undefined
  readonly close: (id: string) => void
}

export const SESSION_MS = 12 * 3_600_000
/** One more ends the oldest. */
const MAX_SESSIONS = 1_000
const ID_BYTES = 32
/** Of a session. More than anybody looks at in a day. */
const MAX_REVEALED = 1_000

/** Who is signed in, in memory: a restart signs everybody out. */
export function createSessions(nowMs: () => number): Sessions {
  const sessions = new Map<string, Session>()
  return {
    open: (role, name) => {
      const id = randomBytes(ID_BYTES).toString('base64url')
      const logName = randomBytes(4).toString('hex')
      const session = {
        id,
        role,
        name,
        expiresAtMs: nowMs() + SESSION_MS,
        logName,
        revealed: createRevealed(MAX_REVEALED),
      }
      sessions.set(id, session)
      const [oldest] = sessions.keys()
      if (sessions.size > MAX_SESSIONS && oldest !== undefined) sessions.delete(oldest)
      return session
    },
    find: (id) => {
      const session = id === undefined ? undefined : sessions.get(id)
      if (session === undefined || session.expiresAtMs > nowMs()) return session
      sessions.delete(session.id)
      return undefined
    },
    close: (id) => void sessions.delete(id),
  }
}
