import type { IncomingMessage } from 'node:http'
import type { CookieOptions, Response } from 'express'
import { SESSION_MS } from './sessions.ts'
import type { Site } from './site.ts'

const NAME = 'nextvisit_console'

/** Returns the session id in the cookie of a request. */
export function sessionIdOf({ headers }: IncomingMessage): string | undefined {
  const pairs = (headers.cookie ?? '').split(';').map((pair) => pair.trim().split('='))
  return pairs.find(([name]) => name === NAME)?.[1]
}

/** Sets the cookie so that scripts cannot read it and requests of other sites do not carry it. */
export function setSessionCookie(response: Response, site: Site, id: string): void {
  response.cookie(NAME, id, { ...optionsOf(site), maxAge: SESSION_MS })
}

export function clearSessionCookie(response: Response, site: Site): void {
  response.clearCookie(NAME, optionsOf(site))
}

function optionsOf({ basePath, isSecure }: Site): CookieOptions {
  return { httpOnly: true, sameSite: 'strict', secure: isSecure, path: basePath }
}
