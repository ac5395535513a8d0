import { randomBytes } from 'node:crypto'
import type { IncomingMessage } from 'node:http'
import type { CookieOptions, Response } from 'express'
import type { Role } from './define-route.ts'
import type { Site } from './site.ts'

/** Session of a signed-in person. */
export interface Session {
  /** Value of the cookie. */
  readonly id: string
  readonly role: Role
  readonly name: string
  readonly expiresAtMs: number
  /** Identifies the session in the log. It gives no access. */
  readonly logName: string
  /**
   * Names of the personal data that a viewer has asked for, a bounded number: users `organization/project/userId`, segments
   * whose members are shown, and dead letters `metering/12`.
   */
  readonly revealed: { readonly add: (name: string) => void; readonly has: (name: string) => boolean }
}

export interface Sessions {
  readonly open: (role: Role, name: string) => Session
  readonly find: (id: string | undefined) => Session | undefined
  readonly close: (id: string) => void
}

export const SESSION_MS = 12 * 3_600_000
const COOKIE = 'nextvisit_console'
/** Beyond this number the oldest session ends. */
const MAX_SESSIONS = 1_000
const ID_BYTES = 32
/** For each session: more than a person views in a day. */
const MAX_REVEALED = 1_000

/** Creates the sessions, which are kept in memory: a restart ends them. */
export function createSessions(nowMs: () => number): Sessions {
  const sessions = new Map<string, Session>()
  return {
    open: (role, name) => {
      const id = randomBytes(ID_BYTES).toString('base64url')
      const logName = randomBytes(4).toString('hex')
      const session = { id, role, name, expiresAtMs: nowMs() + SESSION_MS, logName, revealed: createRevealed() }
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

/** Returns the session id in the cookie of a request. */
export function sessionIdOf({ headers }: IncomingMessage): string | undefined {
  const pairs = (headers.cookie ?? '').split(';').map((pair) => pair.trim().split('='))
  return pairs.find(([name]) => name === COOKIE)?.[1]
}

/** Sets the cookie so that scripts cannot read it and requests of other sites do not carry it. */
export function setSessionCookie(response: Response, site: Site, id: string): void {
  response.cookie(COOKIE, id, { ...optionsOf(site), maxAge: SESSION_MS })
}

export function clearSessionCookie(response: Response, site: Site): void {
  response.clearCookie(COOKIE, optionsOf(site))
}

function optionsOf({ basePath, isSecure }: Site): CookieOptions {
  return { httpOnly: true, sameSite: 'strict', secure: isSecure, path: basePath }
}
