import type { IncomingMessage } from 'node:http'

/** Address of the console for browsers. */
export interface Site {
  /** `/`, or the prefix with a slash at both ends. */
  readonly basePath: string
  /** Cookies are sent over TLS only. */
  readonly isSecure: boolean
  /** Returns true if a page of the console sent the request. Other sites cannot forge that. */
  readonly isOwnRequest: (request: IncomingMessage) => boolean
}

/** A page of another site needs a preflight to send this header, and the console answers none. */
const OWN_HEADER = 'x-nextvisit-console'

/** `publicUrl`: address behind a proxy. Without it, the address is `Host` over HTTP. */
export function createSite(publicUrl: string | undefined): Site {
  const url = publicUrl === undefined ? undefined : new URL(publicUrl)
  const originOf = ({ headers }: IncomingMessage): string => url?.origin ?? `http://${headers.host}`
  return {
    basePath: url ? `${url.pathname.replace(/\/+$/, '')}/` : '/',
    isSecure: url?.protocol === 'https:',
    isOwnRequest: (request) => request.headers[OWN_HEADER] === '1' && request.headers.origin === originOf(request),
  }
}
