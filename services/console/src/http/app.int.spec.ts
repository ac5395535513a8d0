import { once } from 'node:events'
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { createServer, get, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { createLogger } from '@nextvisit/service-kit'
import { until } from '@nextvisit/testing'
import { afterEach, describe, expect, it, onTestFinished } from 'vitest'
import { z } from 'zod'
import { givenSessions } from '../../test/given-sessions.ts'
import { createTokenCheck } from '../session/check-token.ts'
import { createSessionRouter } from '../session/routes.ts'
import { answered, type ApiRoute } from './api-route.ts'
import { createApp } from './app.ts'
import { defineRoute } from './define-route.ts'
import { createSite } from './site.ts'
import { readWebFiles } from './web-files.ts'

const TOKEN = 'operator-token-1234'
const VIEWER_TOKEN = 'viewer-token-12345'
const nowMs = () => 0
let server: Server | undefined
afterEach(() => {
  server?.close()
  waits = []
})

/** The signals of the requests to the route `waits`, which ends with its request. */
let waits: AbortSignal[] = []

/** Starts a console with three routes for changes, two for reading, and built pages. Its log of changes cannot be written. */
async function givenConsole(publicUrl?: string): Promise<string> {
  const folder = await mkdtemp(path.join(tmpdir(), 'nextvisit-test-'))
  onTestFinished(() => rm(folder, { recursive: true }))
  await mkdir(path.join(folder, 'assets'))
  await writeFile(path.join(folder, 'index.html'), '<base href="/" /><p>page</p>')
  await writeFile(path.join(folder, 'assets/app.js'), 'app')
  const site = createSite(publicUrl)
  const { sessions } = await givenSessions()
  const logger = createLogger('console', 'silent')
  const checkToken = createTokenCheck({ operator: TOKEN, viewer: VIEWER_TOKEN }, nowMs)
  const Change = z.strictObject({ name: z.string().max(5), note: z.string().optional() })
  const change: ApiRoute = {
    method: 'POST',
    path: 'things/:name',
    ...defineRoute({
      role: 'operator',
      input: Change,
      maxBody: '100kb',
      answer: z.strictObject({ changed: z.string() }),
    }),
    handle: (input) => answered({ changed: Change.parse(input).name }),
  }
  const remove: ApiRoute = {
    method: 'DELETE',
    path: 'things/:name',
    ...defineRoute({ role: 'operator', input: Change, answer: z.strictObject({ removed: z.string() }) }),
    handle: (input) => answered({ removed: Change.parse(input).name }),
  }
  const recorded: ApiRoute = { ...remove, path: 'recorded/:name', change: () => ({ kind: 'webhook.enable' }) }
  const reading = defineRoute({ role: 'viewer', input: z.strictObject({}), answer: z.string() })
  const wait: ApiRoute = {
    path: 'waits',
    ...reading,
    method: 'GET',
    handle: (_input, _session, signal) =>
      new Promise((_, reject) => {
        waits.push(signal)
        signal.addEventListener('abort', () => reject(new Error('The request was closed')))
      }),
  }
  const large: ApiRoute = {
    path: 'large',
    ...reading,
    method: 'GET',
    handle: () => answered('é'.repeat(4 * 2 ** 20)),
  }
  server = createServer(
    createApp({
      site,
      sessions,
      routes: [change, remove, recorded, wait, large],
      sessionRouter: createSessionRouter({
        site,
        sessions,
        checkToken,
        openId: undefined,
        canTry: async () => false,
        nowMs,
        logger,
      }),
      webFiles: await readWebFiles(folder, site.basePath),
      changes: { record: () => Promise.resolve({ outcome: 'not-recorded' }) },
      logger,
    }),
  ).listen(0, '127.0.0.1')
  await once(server, 'listening')
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

const own = (origin: string, cookie = '') => ({
  'content-type': 'application/json',
  'x-nextvisit-console': '1',
  origin,
  cookie,
})

async function signIn(address: string, origin = address, token = TOKEN): Promise<string> {
  const body = JSON.stringify({ token })
  const response = await fetch(`${address}/api/session`, { method: 'POST', headers: own(origin), body })
  expect(response.status).toBe(200)
  return response.headers.get('set-cookie') ?? ''
}

async function statusOf(address: string, headers: Readonly<Record<string, string>>): Promise<number> {
  const response = await fetch(address, { headers })
  await response.body?.cancel()
  return response.status
}

const note = (length: number) => JSON.stringify({ note: 'x'.repeat(length) })

describe('the HTTP of the console', () => {
  it('answers valid requests and refuses invalid ones, with JSON', async () => {
    const address = await givenConsole()
    const headers = own(address, await signIn(address))
    const change = (name: string) => fetch(`${address}/api/things/${name}`, { method: 'POST', headers, body: '{}' })
    expect(await (await change('lamp')).json()).toEqual({ changed: 'lamp' })
    const refused = await change('longer')
    expect(refused.status).toBe(400)
    expect(await refused.json()).toMatchObject({ error: 'bad-input', message: expect.stringContaining('name: ') })
    expect(await (await fetch(`${address}/api/nothing`)).json()).toMatchObject({ error: 'no-such-route' })
    const broken = await fetch(`${address}/api/things/lamp`, { method: 'POST', headers, body: '{' })
    expect(await broken.json()).toMatchObject({ error: 'bad-body' })
  })

  it('serves each route by its own method only', async () => {
    const address = await givenConsole()
    const headers = own(address, await signIn(address))
    const send = async (method: string) =>
      (await fetch(`${address}/api/things/lamp`, { method, headers, body: '{}' })).json()
    expect(await send('DELETE')).toEqual({ removed: 'lamp' })
    expect(await send('POST')).toEqual({ changed: 'lamp' })
    expect(await send('PUT')).toMatchObject({ error: 'no-such-route' })
  })

  it('refuses a request whose change cannot be recorded', async () => {
    const address = await givenConsole()
    const headers = own(address, await signIn(address))
    const refused = await fetch(`${address}/api/recorded/lamp`, { method: 'DELETE', headers, body: '{}' })
    expect(refused.status).toBe(503)
    expect(await refused.json()).toMatchObject({ error: 'not-recorded' })
  })

  it('reads no body without a session, and a large one only if the route takes it', async () => {
    const address = await givenConsole()
    const send = async (cookie: string, body: string) =>
      (await fetch(`${address}/api/things/lamp`, { method: 'POST', headers: own(address, cookie), body })).status
    const [viewer, operator] = [await signIn(address, address, VIEWER_TOKEN), await signIn(address)]
    expect(await send('', '{')).toBe(401)
    expect(await send(viewer, '{')).toBe(403)
    expect(await send(operator, '{')).toBe(400)
    expect(await send(operator, note(50_000))).toBe(200)
    expect(await send(operator, note(150_000))).toBe(413)
    const signingIn = { method: 'POST', headers: own(address), body: note(50_000) }
    expect((await fetch(`${address}/api/session`, signingIn)).status).toBe(413)
  })

  it('serves the page for every address without a file, and no file outside the folder', async () => {
    const address = await givenConsole()
    for (const name of ['', 'users/demo/shop/x?tab=forms', '..%2f..%2fetc/passwd'])
      expect(await (await fetch(`${address}/${name}`)).text()).toContain('<p>page</p>')
    expect((await fetch(`${address}/assets/gone.js`)).status).toBe(404)
  })

  it.each([
    ['gzip, br', 'gzip'],
    ['identity', null],
    ['gzip;q=0', null],
  ])('compresses its files as the browser accepts: %s', async (accepted, sent) => {
    const address = await givenConsole()
    const response = await fetch(`${address}/assets/app.js`, { headers: { 'accept-encoding': accepted } })
    expect(response.headers.get('content-encoding')).toBe(sent)
    expect(await response.text()).toBe('app')
  })

  it('tells the route of a reading when its request closes', async () => {
    const address = await givenConsole()
    const leaving = new AbortController()
    const headers = own(address, await signIn(address))
    const asked = fetch(`${address}/api/waits`, { headers, signal: leaving.signal })
    await until(() => waits.length === 1)
    expect(waits[0]?.aborted).toBe(false)
    leaving.abort()
    await expect(asked).rejects.toThrow('aborted')
    await until(() => waits[0]?.aborted === true)
  })

  it('sends no answer of more than 8 MiB', async () => {
    const address = await givenConsole()
    const response = await fetch(`${address}/api/large`, { headers: own(address, await signIn(address)) })
    expect([response.status, await response.json()]).toMatchObject([500, { error: 'too-large' }])
  })

  it('works on thirty requests of a session at once, and on the other requests of other sessions', async () => {
    const address = await givenConsole()
    const [ada, bob] = [await signIn(address), await signIn(address)]
    const leaving = new AbortController()
    const ask = (cookie: string) =>
      fetch(`${address}/api/waits`, { headers: own(address, cookie), signal: leaving.signal })
    const running = Array.from({ length: 30 }, () => ask(ada).catch(() => undefined))
    await until(async () => (await statusOf(`${address}/api/large`, own(address, ada))) === 429)
    expect(await statusOf(`${address}/api/large`, own(address, bob))).toBe(500)
    leaving.abort()
    await Promise.all(running)
    await until(async () => (await statusOf(`${address}/api/large`, own(address, ada))) !== 429)
  })

  it('names its cookie after its port, and accepts a session only at the host of its sign-in', async () => {
    const address = await givenConsole()
    const cookie = await signIn(address)
    expect(cookie).toMatch(new RegExp(`^nextvisit_console_${new URL(address).port}=`))
    const statusAt = (host: string) =>
      new Promise<number | undefined>((resolve, reject) => {
        const { hostname, port } = new URL(address)
        const headers = { host, cookie: cookie.split(';')[0] ?? '' }
        get({ hostname, port, path: '/api/large', headers }, ({ statusCode }) => resolve(statusCode)).on(
          'error',
          reject,
        )
      })
    expect(await statusAt(new URL(address).host)).toBe(500)
    // With another name, the port is the same, and so is the name of the cookie.
    expect(await statusAt(`localhost:${new URL(address).port}`)).toBe(401)
  })

  it.each([
    ['passes the prefix on', '/ops/nextvisit'],
    ['strips the prefix', ''],
  ])('works behind a proxy that %s', async (_, prefix) => {
    const address = await givenConsole('https://example.com/ops/nextvisit')
    expect(await (await fetch(`${address}${prefix}/users`)).text()).toContain('<base href="/ops/nextvisit/" />')
    expect(await (await fetch(`${address}${prefix}/assets/app.js`)).text()).toBe('app')
    const cookie = await signIn(`${address}${prefix}`, 'https://example.com')
    expect(cookie).toMatch(/^__Secure-nextvisit_console=.*Path=\/ops\/nextvisit\/;.*HttpOnly; Secure; SameSite=Strict/)
    const foreign = await fetch(`${address}${prefix}/api/session`, {
      method: 'POST',
      headers: own(address),
      body: '{}',
    })
    expect(foreign.status).toBe(403)
  })
})
