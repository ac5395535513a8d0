import type { IncomingMessage } from 'node:http'
import type { CookieOptions, Response } from 'express'
import { SESSION_MS } from '../session/sessions.ts'
import type { Site } from './site.ts'

const NAME = 'nextvisit_console'

/** What the cookie of a request holds. */
export function sessionIdOf({ headers }: IncomingMessage): string | undefined {
  const pairs = (headers.cookie ?? '').split(';').map((pair) => pair.trim().split('='))
  return pairs.find(([name]) => name === NAME)?.[1]
}

/** A script cannot read it, and no other site's request carries it. */
export function setSessionCookie(response: Response, site: Site, id: string): void {
  response.cookie(NAME, id, { ...optionsOf(site), maxAge: SESSION_MS })
}

export function clearSessionCookie(response: Response, site: Site): void {
  response.clearCookie(NAME, optionsOf(site))
}

function optionsOf({ basePath, isSecure }: Site): CookieOptions {
  return { httpOnly: true, sameSite: 'strict', secure: isSecure, path: basePath }
}
