import type { IncomingMessage } from 'node:http'

/** Where browsers find the console. */
export interface Site {
  /** `/`, or the prefix with a slash at both ends. */
  readonly basePath: string
  /** Whether cookies travel only over TLS. */
  readonly isSecure: boolean
  /** Whether a request comes from a page of the console: no other site can say so. */
  readonly isOwnRequest: (request: IncomingMessage) => boolean
}

/** A page of another site cannot send it without the browser's preflight, which nobody answers. */
export const OWN_HEADER = 'x-nextvisit-console'

/** `publicUrl`: where a proxy stands in front. Without one, the address is what `Host` says, over HTTP. */
export function createSite(publicUrl: string | undefined): Site {
  const url = publicUrl === undefined ? undefined : new URL(publicUrl)
  const originOf = ({ headers }: IncomingMessage): string => url?.origin ?? `http://${headers.host}`
  return {
    basePath: url ? `${url.pathname.replace(/\/+$/, '')}/` : '/',
    isSecure: url?.protocol === 'https:',
    isOwnRequest: (request) => request.headers[OWN_HEADER] === '1' && request.headers.origin === originOf(request),
  }
}
