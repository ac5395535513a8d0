import type { IncomingMessage } from 'node:http'
import type { CookieOptions, Response } from 'express'
import type { Session, Sessions } from './sessions.ts'

/** Address of the console for browsers, and its cookies. */
export interface Site {
  /** `/`, or the prefix with a slash at both ends. */
  readonly basePath: string
  /** The configured address, which ends with a slash; undefined: it is that of each request. */
  readonly base: URL | undefined
  /** Returns true if a page of the console sent the request. Other sites cannot forge that. */
  readonly isOwnRequest: (request: IncomingMessage) => boolean
  /** `Host` of a request, and the network address of its caller. */
  readonly callerOf: (request: IncomingMessage) => { readonly host: string; readonly address: string }
  readonly sessionOf: (request: IncomingMessage, sessions: Sessions) => Promise<Session | undefined>
  /** Sets the cookie so that scripts cannot read it and requests of other sites do not carry it. */
  readonly setCookie: (request: IncomingMessage, response: Response, id: string, lastsMs: number) => void
  readonly clearCookie: (request: IncomingMessage, response: Response) => void
  /** The cookie of a begun sign-in. Browsers send it with the way back from the provider's pages. */
  readonly signInCookie: {
    readonly of: (request: IncomingMessage) => string | undefined
    readonly set: (request: IncomingMessage, response: Response, text: string) => void
    readonly clear: (request: IncomingMessage, response: Response) => void
  }
}

/** A page of another site needs a preflight to send this header, and the console answers none. */
const OWN_HEADER = 'x-nextvisit-console'
const COOKIE = 'nextvisit_console'
const SIGN_IN_COOKIE = 'nextvisit_console_sign_in'
/** For the pages of the provider: passwords, second factors. */
export const SIGN_IN_MS = 15 * 60_000

/**
 * `publicUrl`: address behind a proxy. Without it, the address is `Host` over HTTP.
 *
 * Browsers send a cookie to every port of its host. Its name has the port, so that two consoles on one machine do not overwrite
 * each other's. A server on another port still receives the value: trust the servers of a host, or give the console its own.
 */
export function createSite(publicUrl: string | undefined): Site {
  const url = publicUrl === undefined ? undefined : new URL(publicUrl)
  const originOf = ({ headers }: IncomingMessage): string => url?.origin ?? `http://${headers.host}`
  const basePath = url ? `${url.pathname.replace(/\/+$/, '')}/` : '/'
  const isSecure = url?.protocol === 'https:'
  const cookie: CookieOptions = { httpOnly: true, sameSite: 'strict', secure: isSecure, path: basePath }
  // The way back from the provider is a navigation from another site.
  const signInCookie: CookieOptions = { ...cookie, sameSite: 'lax' }

  function nameFor({ headers }: IncomingMessage, prefix = COOKIE): string {
    const port = url ? url.port : portOf(headers.host)
    const name = port === '' ? prefix : `${prefix}_${port}`
    if (!isSecure) return name
    // Browsers then refuse the cookie from other hosts of the domain, and over HTTP.
    return `${basePath === '/' ? '__Host-' : '__Secure-'}${name}`
  }

  return {
    basePath,
    base: url && new URL(basePath, url),
    isOwnRequest: (request) => request.headers[OWN_HEADER] === '1' && request.headers.origin === originOf(request),
    callerOf: ({ headers, socket }) => {
      // The proxy appends the address of its caller.
      const forwarded = url
        ? String(headers['x-forwarded-for'] ?? '')
            .split(',')
            .at(-1)
            ?.trim()
        : undefined
      return { host: headers.host ?? '', address: forwarded || (socket.remoteAddress ?? '') }
    },
    sessionOf: (request, sessions) => sessions.find(cookieOf(request, nameFor(request)), request.headers.host ?? ''),
    setCookie: (request, response, id, lastsMs) =>
      response.cookie(nameFor(request), id, { ...cookie, maxAge: lastsMs }),
    clearCookie: (request, response) => response.clearCookie(nameFor(request), cookie),
    signInCookie: {
      of: (request) => {
        const given = cookieOf(request, nameFor(request, SIGN_IN_COOKIE))
        return given === undefined ? undefined : Buffer.from(given, 'base64url').toString()
      },
      set: (request, response, text) =>
        response.cookie(nameFor(request, SIGN_IN_COOKIE), Buffer.from(text).toString('base64url'), {
          ...signInCookie,
          maxAge: SIGN_IN_MS,
        }),
      clear: (request, response) => response.clearCookie(nameFor(request, SIGN_IN_COOKIE), signInCookie),
    },
  }
}

function cookieOf(request: IncomingMessage, name: string): string | undefined {
  const pairs = (request.headers.cookie ?? '').split(';').map((pair) => pair.trim().split('='))
  return pairs.find(([given]) => given === name)?.[1]
}

/** Returns the port in a `Host` header; empty: the default one. */
function portOf(host = ''): string {
  return /:(\d{1,5})$/.exec(host)?.[1] ?? ''
}
