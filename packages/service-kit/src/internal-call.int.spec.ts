import net from 'node:net'
import { type CallTable, defineCall } from '@nextvisit/contracts'
import { beforeEach, describe, expect, it, onTestFinished } from 'vitest'
import { z } from 'zod'
import { createAddresses } from './addresses.ts'
import { createCallClient, type CallContext, type Handlers, type CallRoute, NOT_FOUND, serveCalls } from './calls.ts'
import { createInternalClient } from './internal-client.ts'
import type { Health, InternalServerOptions } from './internal-server.ts'
import { internalServerConfig, readConfig } from './read-config.ts'
import { givenInternalServer } from '../test/given-internal-server.ts'

const TOKEN = 'a token of some length'
const question = z.object({ n: z.number() })
const answer = z.object({ twice: z.number() })
const calls = {
  double: defineCall({ path: '/internal/double', question, answer }),
  text: defineCall({ path: '/internal/text', question, answer: z.object({ text: z.string() }) }),
  /** Not served. */
  elsewhere: defineCall({ path: '/internal/elsewhere', question, answer }),
} satisfies CallTable

function serving(double: Handlers<typeof calls>['double']) {
  return serveCalls({ double: calls.double }, { double })
}
const double = serving(async ({ n }) => ({ twice: 2 * n }))

const serve = (routes: readonly CallRoute[], own: Partial<InternalServerOptions> = {}) =>
  givenInternalServer({ token: TOKEN, routes, ...own })

/** A process whose INTERNAL_TOKEN has these tokens. */
async function givenProcess(variable: string) {
  const env = { INTERNAL_PORT: '0', INTERNAL_TOKEN: variable }
  const { internalServer } = readConfig(internalServerConfig, env)
  const { url } = await serve(double, internalServer)
  const call = (other: string) =>
    createCallClient(
      calls,
      createInternalClient({ addresses: createAddresses([other]), token: internalServer.token, timeoutMs: 2_000 }),
    ).double({ n: 1 })
  return { url, call }
}

/** Returns whether processes before and after the restart of a step of a rotation can call each other. */
async function canBeReplacedOneByOne(before: string, after: string): Promise<boolean> {
  const [old, restarted] = [await givenProcess(before), await givenProcess(after)]
  const answers = await Promise.all([old.call(restarted.url), restarted.call(old.url), restarted.call(restarted.url)])
  return answers.every(({ outcome }) => outcome === 'answered')
}

const [OLD, NEW] = ['the-old-token-of-16', 'the-new-token-of-16']

function asksAt(...baseUrls: string[]) {
  return createCallClient(
    calls,
    createInternalClient({ addresses: createAddresses(baseUrls), token: TOKEN, timeoutMs: 2_000 }),
  )
}

/** Says nothing to anybody, and counts who tried. */
async function startBlackHole() {
  let connections = 0
  const sockets = new Set<net.Socket>()
  const server = net.createServer((socket) => {
    connections += 1
    sockets.add(socket.on('error', () => {}))
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => {
    for (const socket of sockets) socket.destroy()
    server.close()
  })
  return {
    url: `http://127.0.0.1:${(server.address() as net.AddressInfo).port}`,
    connections: () => connections,
    hangUp: () => sockets.forEach((socket) => socket.destroy()),
  }
}

async function refusedAddress(): Promise<string> {
  const { url, stop } = await serve([])
  await stop()
  return url
}

function stall(): void {
  const until = performance.now() + 2_200
  while (performance.now() < until);
}

describe('an internal call', () => {
  it('is answered if the answer arrived while the process stalled, though its time is over', async () => {
    const { url } = await serve(
      serving(async ({ n }) => {
        setImmediate(stall)
        return { twice: 2 * n }
      }),
    )
    expect(await asksAt(url).double({ n: 4 })).toMatchObject({ outcome: 'answered' })
  })

  it('is answered', async () => {
    const { url } = await serve(double)
    expect(await asksAt(url).double({ n: 4 })).toEqual({
      outcome: 'answered',
      answer: { twice: 8 },
    })
  })

  it('is not found only if the handler answers so', async () => {
    const { url } = await serve(serving(async () => NOT_FOUND))
    expect(await asksAt(url).double({ n: 1 })).toEqual({ outcome: 'not-found' })
    expect(await asksAt(url).elsewhere({ n: 1 })).toMatchObject({ outcome: 'unavailable' })
  })

  it('is unavailable when its question, its answer or its token is wrong', async () => {
    const { url } = await serve(double)
    const send = createInternalClient({ addresses: createAddresses([url]), token: TOKEN, timeoutMs: 2_000 })
    const stranger = createInternalClient({
      addresses: createAddresses([url]),
      token: 'another token',
      timeoutMs: 2_000,
    })
    for (const outcome of [
      await send(calls.double, { n: 'four' }),
      await send({ ...calls.double, answer: z.object({ thrice: z.number() }) }, { n: 4 }),
      await stranger(calls.double, { n: 4 }),
    ]) {
      expect(outcome).toMatchObject({ outcome: 'unavailable', cause: { code: 'INTERNAL_CALL_FAILED' } })
    }
  })

  it('is unavailable when its answer is too large', async () => {
    const { url } = await serve(serveCalls({ text: calls.text }, { text: async ({ n }) => ({ text: 'x'.repeat(n) }) }))
    const send = createInternalClient({ addresses: createAddresses([url]), token: TOKEN, timeoutMs: 30_000 })
    const read = (n: number) => send(calls.text, { n })
    expect(await read(2_000_000)).toMatchObject({ outcome: 'answered' })
    expect(await read(9 * 1024 * 1024)).toMatchObject({
      outcome: 'unavailable',
      cause: { cause: { message: expect.stringContaining('bytes') } },
    })
  })

  it('goes to the next address when one refuses the connection, and stays there', async () => {
    const { url } = await serve(double)
    const asks = asksAt(await refusedAddress(), url)
    expect(await asks.double({ n: 1 })).toMatchObject({ outcome: 'answered' })
    expect(await asks.double({ n: 2 })).toMatchObject({ outcome: 'answered' })
  })

  it('goes to the next address when several calls are refused at once', async () => {
    const { url } = await serve(double)
    const asks = asksAt(await refusedAddress(), url)
    const outcomes = await Promise.all([1, 2, 3, 4].map((n) => asks.double({ n })))
    expect(outcomes.map(({ outcome }) => outcome)).toEqual(Array.from({ length: 4 }, () => 'answered'))
  })

  it('is not repeated if the first address may have handled it', async () => {
    const hole = await startBlackHole()
    let handled = 0
    const { url } = await serve(serving(async () => ({ twice: ++handled })))
    const asks = asksAt(hole.url, url)
    const outcome = asks.double({ n: 1 })
    await expect.poll(hole.connections).toBe(1)
    hole.hangUp()
    expect(await outcome).toMatchObject({ outcome: 'unavailable' })
    expect(handled).toBe(0)
    expect(await asks.double({ n: 1 })).toMatchObject({ outcome: 'answered' })
  })

  it('is unavailable when every address refuses', async () => {
    const asks = asksAt(await refusedAddress(), await refusedAddress())
    expect(await asks.double({ n: 1 })).toMatchObject({ outcome: 'unavailable' })
  })

  it('ends at its deadline, or when the caller aborts it', async () => {
    const { url } = await startBlackHole()
    const asks = asksAt(url)
    expect(await asks.double({ n: 1 }, { deadlineAt: performance.now() + 50 })).toMatchObject({
      outcome: 'unavailable',
    })
    const signal = AbortSignal.timeout(50)
    expect(await asks.double({ n: 1 }, { signal })).toMatchObject({ outcome: 'unavailable' })
    expect(await asks.double({ n: 1 }, { deadlineAt: performance.now() })).toMatchObject({
      outcome: 'unavailable',
    })
  })

  it('aborts its handler when the caller is gone', async () => {
    const aborted: unknown[] = []
    async function waitForAbort(_: unknown, { signal }: CallContext) {
      await new Promise((resolve) => signal.addEventListener('abort', resolve))
      aborted.push(signal.reason)
      return { twice: 0 }
    }
    const { url } = await serve(serving(waitForAbort))
    const asks = asksAt(url)
    await asks.double({ n: 1 }, { deadlineAt: performance.now() + 50 })
    await asks.double({ n: 1 }, { signal: AbortSignal.timeout(50) })
    await expect.poll(() => aborted.length).toBe(2)
  })

  it.each([
    ['says so when the handler may do better later', Object.assign(new Error('canary'), { retryable: true }), 503],
    ['says no more than that when the handler has a bug', new TypeError('canary'), 500],
  ])('%s', async (_, error, status) => {
    const { url } = await serve(serving(() => Promise.reject(error)))
    const response = await post(`${url}/internal/double`, '{"n":1}')
    expect(response.status).toBe(status)
    expect(await response.text()).not.toContain('canary')
  })
})

function post(url: string, body: string, headers: Record<string, string> = {}): Promise<Response> {
  return fetch(url, {
    method: 'POST',
    body,
    headers: { 'content-type': 'application/json', authorization: `Bearer ${TOKEN}`, ...headers },
  })
}

describe('the internal port', () => {
  let ready: Health
  let url: string
  beforeEach(async () => {
    ready = { status: 'available' }
    const served = await serve(double, { isReady: () => ready })
    url = served.url
  })

  it('answers whether the process is live and ready, with the reason if not', async () => {
    expect((await fetch(`${url}/livez`)).status).toBe(200)
    expect((await fetch(`${url}/readyz`)).status).toBe(200)
    ready = { status: 'unavailable', because: 'partition 3 is behind' }
    const response = await fetch(`${url}/readyz`)
    expect(response.status).toBe(503)
    expect(await response.json()).toEqual(ready)
  })

  it('answers not ready while the check fails or hangs', async () => {
    const throwing = await serve([], { isReady: () => Promise.reject(new Error('no connection')) })
    expect((await fetch(`${throwing.url}/readyz`)).status).toBe(503)
    const hanging = await serve([], { isReady: () => new Promise(() => {}) })
    expect(await (await fetch(`${hanging.url}/readyz`)).json()).toMatchObject({ status: 'unavailable' })
  })

  it('serves the metrics of the process', async () => {
    const response = await fetch(`${url}/metrics`)
    expect(response.headers.get('content-type')).toContain('text/plain')
    expect(await response.text()).toContain('process_cpu_seconds_total{service="spec"}')
  })

  it.each([
    ['without the token', '{"n":1}', { authorization: '' }, 401],
    ['with another token', '{"n":1}', { authorization: `Bearer ${TOKEN}x` }, 401],
    ['with another scheme', '{"n":1}', { authorization: TOKEN }, 401],
    ['without JSON in it', 'n=1', {}, 400],
    ['of another type', '{"n":1}', { 'content-type': 'text/plain' }, 400],
    ['over a megabyte', JSON.stringify({ n: 1, filler: 'x'.repeat(1_100_000) }), {}, 413],
    ['that does not fit', '{"n":"one"}', {}, 400],
  ])('refuses a call %s', async (_, body, headers, status) => {
    const response = await post(`${url}/internal/double`, body, headers)
    expect(response.status).toBe(status)
    expect(await response.json()).toMatchObject({ status, error: expect.any(String), message: expect.any(String) })
  })

  it('names the field of a question that does not fit', async () => {
    const response = await post(`${url}/internal/double`, '{"n":"one"}')
    expect(await response.json()).toMatchObject({ error: 'BAD_REQUEST', message: expect.stringMatching(/^n: /) })
  })

  it('answers the current calls before it stops', async () => {
    let finish: (() => void) | undefined
    const slow = serving(async () => {
      await new Promise<void>((resolve) => (finish = resolve))
      return { twice: 1 }
    })
    const served = await serve(slow)
    const outcome = asksAt(served.url).double({ n: 1 })
    await expect.poll(() => finish).toBeDefined()
    const stopped = served.stop()
    finish?.()
    expect(await outcome).toMatchObject({ outcome: 'answered' })
    await stopped
    expect(await asksAt(served.url).double({ n: 1 })).toMatchObject({
      outcome: 'unavailable',
    })
  })

  it('names the port that is taken', async () => {
    const { port } = await serve([])
    await expect(serve([], { port })).rejects.toMatchObject({ code: 'CANNOT_LISTEN' })
  })
})

describe('a rotation of INTERNAL_TOKEN (rotate-secrets.md)', () => {
  it.each([
    [OLD, `${OLD},${NEW}`],
    [`${OLD},${NEW}`, `${NEW},${OLD}`],
    [`${NEW},${OLD}`, NEW],
  ])('refuses no call while processes with %s are replaced by those with %s', async (before, after) => {
    expect(await canBeReplacedOneByOne(before, after)).toBe(true)
  })

  it.each([
    [OLD, NEW],
    [OLD, `${NEW},${OLD}`],
    [`${OLD},${NEW}`, NEW],
  ])('would refuse calls if it went from %s to %s at once', async (before, after) => {
    expect(await canBeReplacedOneByOne(before, after)).toBe(false)
  })
})
