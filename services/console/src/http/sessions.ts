import { randomBytes } from 'node:crypto'
import type { Actor } from './actor.ts'
import type { Role } from './define-route.ts'

/** Session of a signed-in person. */
export interface Session extends Actor {
  /** Value of the cookie. */
  readonly id: string
  readonly expiresAtMs: number
  /**
   * Names of the personal data that a viewer has asked for, a bounded number: users `organization/project/userId`, segments
   * whose members are shown, and dead letters `metering/12`.
   */
  readonly revealed: { readonly add: (name: string) => void; readonly has: (name: string) => boolean }
}

/** The person who signs in. */
interface Person {
  readonly name: string
  /** `Host` of the request. The session is valid only there. */
  readonly host: string
  /** Network address. */
  readonly address: string
}

export interface Sessions {
  readonly open: (role: Role, person: Person) => Session
  /** `host`: of the request. */
  readonly find: (id: string | undefined, host: string) => Session | undefined
  readonly close: (id: string) => void
}

export const SESSION_MS = 12 * 3_600_000
/** Sessions of one role. Beyond this number, a further one ends another of the same role. */
const MAX_SESSIONS = 200
const ID_BYTES = 32
/** For each session: more than a person views in a day. */
const MAX_REVEALED = 1_000

interface Opened {
  readonly session: Session
  readonly person: Person
}

/**
 * Creates the sessions. They are kept in memory, so a restart ends them. Each role has at most {@link MAX_SESSIONS}. A further
 * sign-in evicts the least recently used session of the address with the most sessions of that role. Frequent sign-ins
 * therefore evict no sessions of the other role or of other addresses.
 */
export function createSessions(nowMs: () => number): Sessions {
  /** The least recently used first. */
  const sessions = new Map<string, Opened>()

  function makeRoom(role: Role): void {
    const ofRole = [...sessions.values()].filter(({ session }) => session.role === role)
    if (ofRole.length <= MAX_SESSIONS) return
    const byAddress = [...Map.groupBy(ofRole, ({ person }) => person.address).values()]
    const most = byAddress.reduce((one, other) => (other.length > one.length ? other : one))
    if (most[0]) sessions.delete(most[0].session.id)
  }

  return {
    open: (role, person) => {
      const id = randomBytes(ID_BYTES).toString('base64url')
      const logName = randomBytes(4).toString('hex')
      const { name } = person
      const actor: Actor = { role, name, isVerified: false, subject: null, logName }
      const session = { ...actor, id, expiresAtMs: nowMs() + SESSION_MS, revealed: createRevealed() }
      sessions.set(id, { session, person })
      makeRoom(role)
      return session
    },
    find: (id, host) => {
      const opened = id === undefined ? undefined : sessions.get(id)
      if (!opened || opened.person.host !== host) return undefined
      const { session } = opened
      sessions.delete(session.id)
      if (session.expiresAtMs <= nowMs()) return undefined
      sessions.set(session.id, opened)
      return session
    },
    close: (id) => void sessions.delete(id),
  }
}

/** Beyond {@link MAX_REVEALED} names the oldest is dropped. */
function createRevealed(): Session['revealed'] {
  const names = new Set<string>()
  return {
    add: (name) => {
      names.delete(name)
      names.add(name)
      const [oldest] = names
      if (names.size > MAX_REVEALED && oldest !== undefined) names.delete(oldest)
    },
    has: (name) => names.has(name),
  }
}
