import { once } from 'node:events'
import { createServer, type RequestListener } from 'node:http'
import type { AddressInfo } from 'node:net'
import { createLogger } from '@nextvisit/service-kit'
import { onTestFinished } from 'vitest'
import { createApp } from '../src/http/app.ts'
import { createSite } from '../src/http/site.ts'
import { createIdentityProvider } from '../src/session/identity-provider.ts'
import { createSessionRouter } from '../src/session/routes.ts'
import { givenSessions } from './given-sessions.ts'

/** Serves on a free port of loopback. The listener may need the address, so it is created last. */
export async function serve(createListener: (address: string) => RequestListener | Promise<RequestListener>) {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  onTestFinished(() => {
    server.close()
    server.closeAllConnections()
  })
  const address = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  server.on('request', await createListener(address))
  return address
}

interface OpenIdConsoleOptions {
  readonly address: string
  readonly issuer: string
  readonly roles?: string
  readonly clientSecret?: string
  /** Default: sessions of its own. */
  readonly keyPrefix?: string
  readonly redisUrl?: string
  readonly onLine?: (line: string) => void
}

const nowMs = () => Date.now()

/** Creates the app of a console with a provider and without screens. */
export async function openIdApp(options: OpenIdConsoleOptions): Promise<RequestListener> {
  const { address, issuer, roles = 'roles', clientSecret, keyPrefix, redisUrl, onLine } = options
  const logger = createLogger('console', 'info', { write: (line: string) => onLine?.(line) })
  const site = createSite(address)
  const base = new URL('/', address)
  const openId = {
    issuer: new URL(issuer),
    clientId: 'console',
    clientSecret,
    name: 'Staff',
    scopes: 'openid profile email',
    roles: { claim: roles, operators: ['ops'], viewers: ['staff'] },
    sessionMs: 3_600_000,
  }
  const { sessions } = await givenSessions({
    ...(keyPrefix !== undefined && { keyPrefix }),
    ...(redisUrl !== undefined && { url: redisUrl }),
  })
  return createApp({
    site,
    sessions,
    routes: [],
    changes: { record: () => Promise.resolve({ outcome: 'not-recorded' }) },
    sessionRouter: createSessionRouter({
      site,
      sessions,
      checkToken: undefined,
      openId: {
        ...openId,
        base,
        secrets: ['the internal token'],
        provider: createIdentityProvider({ openId, base, nowMs, logger }),
      },
      canTry: async () => false,
      nowMs,
      logger,
    }),
    webFiles: (_request, response) => void response.send('page'),
    logger,
  })
}

/** A browser without pages: keeps cookies by origin, and follows redirects. */
export function givenBrowser() {
  const jars = new Map<string, Map<string, string>>()

  function jarOf(address: string): Map<string, string> {
    const { origin } = new URL(address)
    const jar = jars.get(origin) ?? new Map<string, string>()
    jars.set(origin, jar)
    return jar
  }

  /** Keeps the cookie of a `Set-Cookie` header. */
  function keep(address: string, line: string): void {
    const [, name = '', value = ''] = /^([^=]+)=([^;]*)/.exec(line) ?? []
    if (line.includes('expires=Thu, 01 Jan 1970') || line.includes('Expires=Thu, 01 Jan 1970'))
      jarOf(address).delete(name)
    else jarOf(address).set(name, value)
  }

  async function visit(
    address: string,
    {
      method = 'GET',
      headers = {},
    }: { readonly method?: string; readonly headers?: Readonly<Record<string, string>> } = {},
  ): Promise<Response> {
    const cookie = Array.from(jarOf(address), ([name, value]) => `${name}=${value}`).join('; ')
    const response = await fetch(address, { method, redirect: 'manual', headers: { ...headers, cookie } })
    for (const line of response.headers.getSetCookie()) keep(address, line)
    return response
  }

  /** Visits an address and where it leads. Stops before an address that `isEnd` accepts, and returns the last one. */
  async function follow(address: string, isEnd: (next: string) => boolean = () => false): Promise<string> {
    const response = await visit(address)
    await response.body?.cancel()
    const location = response.headers.get('location')
    if (location === null) return address
    const next = new URL(location, address).href
    return isEnd(next) ? next : follow(next, isEnd)
  }

  /** Calls a route of a console, as its pages do. */
  async function call(address: string, method: string, path: string): Promise<unknown> {
    const headers = { 'x-nextvisit-console': '1', origin: new URL(address).origin }
    return (await visit(`${address}/api/${path}`, { method, headers })).json()
  }

  return { keep, follow, call, cookiesOf: jarOf }
}
