import { connect, type Socket } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { gzipSync } from 'node:zlib'
import { ROUTES } from '@nextvisit/contracts'
import { until } from '@nextvisit/testing'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type GatewayFixture, newKey, startGateway } from '../../test/gateway-fixture.ts'
import { startService } from '../../test/service-fixture.ts'

const IDENTIFY = '/v2/admin/identify-user'
const UUID_V7 = /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/

let gateway: GatewayFixture
let json: Record<string, string>
beforeAll(async () => {
  gateway = await startGateway()
  json = { 'content-type': 'application/json', 'x-api-key': gateway.keys.admin }
})
afterAll(() => gateway.stop())

/** Returns a body of exactly this number of bytes. */
const bodyOf = (bytes: number) =>
  JSON.stringify({ userName: 'ada', filling: '' }).replace('""', `"${'x'.repeat(bytes - 31)}"`)

/** Opens a raw connection; `read` returns all bytes received so far. */
function rawSocket(port = gateway.port): { socket: Socket; read: () => string } {
  const socket = connect(port, '127.0.0.1')
  let text = ''
  socket.on('data', (chunk) => (text += chunk.toString()))
  socket.on('error', () => undefined)
  return { socket, read: () => text }
}

async function answerTo(raw: string): Promise<string> {
  const { socket, read } = rawSocket()
  socket.write(raw)
  const giveUpAt = performance.now() + 5_000
  while (!/\r\n\r\n.*\}/s.test(read()) && performance.now() < giveUpAt) await sleep(10)
  socket.destroy()
  return read()
}

describe('routes (decisions.md, Order of checks)', () => {
  it.each(['/', '/v2/admin', '/v2/admin/identify-user/', '/V2/admin/identify-user', '/v2/admin/nothing', '/metrics'])(
    'answer 404 for %s, before the key check',
    async (path) => {
      expect((await gateway.call('POST', path)).body).toEqual({
        status: 404,
        error: 'Not Found',
        message: expect.any(String),
      })
    },
  )

  it.each([
    ['GET', IDENTIFY, 'POST'],
    ['OPTIONS', IDENTIFY, 'POST'],
    ['DELETE', '/v2/admin/users/ada', 'GET, HEAD'],
    ['GET', '/v2/sdk/track-event', 'POST, OPTIONS'],
    ['POST', '/livez', 'GET, HEAD'],
  ])('answer 405 with Allow for %s %s, before the key check', async (method, path, allow) => {
    const answer = await gateway.call(method, path)
    expect(answer.status).toBe(405)
    expect(answer.headers.allow).toBe(allow)
  })

  it('refuse a path with invalid percent-encoding', async () => {
    expect((await gateway.get('/v2/admin/users/%ff')).status).toBe(400)
  })
})

describe('keys (decisions.md, Keys)', () => {
  it.each(Object.values(ROUTES))('are required by %o', async ({ method, pattern }) => {
    expect((await gateway.call(method, pattern.replaceAll(/\{\w+\}/g, 'x'))).status).toBe(401)
  })

  it('get one 401 if they are missing, malformed, unknown or repeated', async () => {
    const { admin } = gateway.keys
    const wrong = [
      {},
      { 'x-api-key': 'x' },
      { 'x-api-key': newKey('admin', 'P') },
      { 'x-api-key': `${admin}, ${admin}` },
      { 'x-api-key': `${admin.slice(0, -1)}_` },
    ]
    const answers = await Promise.all(
      wrong.map((headers) => gateway.call('POST', IDENTIFY, headers as Record<string, string>)),
    )
    for (const { body } of answers)
      expect(body).toEqual({ status: 401, error: 'Unauthorized', message: 'Invalid or missing API key' })
  })

  it('of the other kind get 403', async () => {
    expect((await gateway.post(IDENTIFY, {}, gateway.keys.sdk)).status).toBe(403)
    expect((await gateway.get('/v2/admin/users/ada', gateway.keys.sdk)).status).toBe(403)
    expect((await gateway.post('/v2/sdk/identify-user', {}, gateway.keys.admin)).status).toBe(403)
  })

  it('are checked before the body, its type and its size', async () => {
    expect((await gateway.call('POST', IDENTIFY, { 'content-type': 'text/plain' }, 'x')).status).toBe(401)
    expect((await gateway.call('POST', IDENTIFY, {}, bodyOf(200_000))).status).toBe(401)
  })
})

describe('a body (decisions.md, Order of checks)', () => {
  it.each([
    undefined,
    'text/plain',
    'application/vnd.api+json',
    'application/json; charset=latin1',
    'application/jsonp',
  ])('with Content-Type %s gets 415', async (type) => {
    const headers = { 'x-api-key': gateway.keys.admin, ...(type && { 'content-type': type }) }
    expect((await gateway.call('POST', IDENTIFY, headers, '{}')).status).toBe(415)
  })

  it.each([
    'application/json',
    'Application/JSON',
    'application/json; charset=utf-8',
    'application/json;charset="UTF-8"',
    'application/json; charset=utf8',
    'application/json; charset=utf8mb4',
    'application/json; indent=2; charset=US-ASCII;',
  ])('may have Content-Type %s', async (type) => {
    expect((await gateway.call('POST', IDENTIFY, { ...json, 'content-type': type }, '{"userName":"ada"}')).status).toBe(
      200,
    )
  })

  it('in another encoding than gzip gets 415, before its size is checked', async () => {
    expect((await gateway.call('POST', IDENTIFY, { ...json, 'content-encoding': 'br' }, '{}')).status).toBe(415)
    expect(
      (await gateway.call('POST', IDENTIFY, { ...json, 'content-type': 'text/plain' }, bodyOf(200_000))).status,
    ).toBe(415)
  })

  it('may have 102,400 bytes and not one more, with Content-Length and without', async () => {
    const chunked = { ...json, 'transfer-encoding': 'chunked' }
    expect(bodyOf(102_400)).toHaveLength(102_400)
    expect((await gateway.call('POST', IDENTIFY, json, bodyOf(102_400))).status).toBe(200)
    expect((await gateway.call('POST', IDENTIFY, chunked, bodyOf(102_400))).status).toBe(200)
    expect((await gateway.call('POST', IDENTIFY, json, bodyOf(102_401))).status).toBe(413)
    expect((await gateway.call('POST', IDENTIFY, chunked, bodyOf(102_401))).status).toBe(413)
  })

  it('in gzip has the same limit, inflated', async () => {
    const zipped = { ...json, 'content-encoding': 'gzip' }
    expect((await gateway.call('POST', IDENTIFY, zipped, gzipSync(bodyOf(102_400)))).status).toBe(200)
    expect((await gateway.call('POST', IDENTIFY, zipped, gzipSync(bodyOf(102_401)))).status).toBe(413)
    expect((await gateway.call('POST', IDENTIFY, zipped, gzipSync(Buffer.alloc(50_000_000)))).status).toBe(413)
    expect((await gateway.call('POST', IDENTIFY, zipped, 'not gzip')).status).toBe(400)
  })

  it('with a large Content-Length gets 413 at once, before it was sent', async () => {
    const head = `POST ${IDENTIFY} HTTP/1.1\r\nHost: x\r\nX-Api-Key: ${gateway.keys.admin}\r\nContent-Type: application/json\r\n`
    expect(await answerTo(`${head}Content-Length: 200000\r\n\r\n{`)).toMatch(/^HTTP\/1\.1 413 /)
  })

  it('that is too large is drained, so that its sender reads the 413 and keeps the connection', async () => {
    const { socket, read } = rawSocket()
    const head = `POST ${IDENTIFY} HTTP/1.1\r\nHost: x\r\nX-Api-Key: ${gateway.keys.admin}\r\nContent-Type: application/json\r\n`
    socket.write(`${head}Content-Length: 500000\r\n\r\n${'x'.repeat(500_000)}`)
    socket.write(`${head}Content-Length: 18\r\n\r\n{"userName":"ada"}`)
    const giveUpAt = performance.now() + 5_000
    while (!read().includes('"ok"') && performance.now() < giveUpAt) await sleep(10)
    socket.destroy()
    expect(read()).toMatch(/HTTP\/1\.1 413 .*HTTP\/1\.1 200 /s)
  })

  it('is drained within bounds: a caller who keeps sending loses the connection', async () => {
    const { socket } = rawSocket()
    const closed = new Promise((resolve) => socket.once('close', () => resolve('closed')))
    const chunk = Buffer.alloc(1_048_576)
    socket.write(`POST ${IDENTIFY} HTTP/1.1\r\nHost: x\r\nContent-Length: ${100 * chunk.length}\r\n\r\n`)
    let sent = 0
    for (let end: unknown; sent < 100 && end !== 'closed'; sent += 1) {
      if (!socket.write(chunk))
        end = await Promise.race([closed, new Promise((resolve) => socket.once('drain', resolve))])
    }
    await closed
    expect(sent).toBeLessThan(100)
  })

  it.each(['', '[]', '{"userName":"ada"', '{"userName":"\\u0000"}'])('such as %j gets 400', async (body) => {
    expect((await gateway.call('POST', IDENTIFY, json, body)).body).toEqual({
      status: 400,
      error: 'Bad Request',
      message: expect.any(String),
    })
  })
})

describe('every response', () => {
  it('carries X-Request-Id and the security headers, and does not reveal the framework', async () => {
    const answers = await Promise.all([
      gateway.identify({ userName: 'ada' }),
      gateway.call('POST', IDENTIFY),
      gateway.call('GET', '/nothing'),
      gateway.call('GET', '/livez'),
      gateway.call('OPTIONS', '/v2/sdk/identify-user'),
      gateway.get('/v2/admin/users/%ff'),
    ])
    for (const { headers } of answers) {
      expect(headers).toMatchObject({
        'x-request-id': expect.stringMatching(UUID_V7),
        'x-content-type-options': 'nosniff',
        'cache-control': 'no-store',
      })
      expect(headers).not.toHaveProperty('x-powered-by')
    }
  })

  it('has the form of all errors even if Node refuses the request: for too large headers, and for invalid HTTP', async () => {
    const large = await answerTo(`GET /livez HTTP/1.1\r\nHost: x\r\nX-Large: ${'x'.repeat(20_000)}\r\n\r\n`)
    expect(large).toMatch(/^HTTP\/1\.1 431 .*x-request-id/is)
    expect(large).toContain('{"status":431,"error":"Request Header Fields Too Large","message":')
    expect(await answerTo('nonsense\r\n\r\n')).toMatch(/^HTTP\/1\.1 400 .*"error":"Bad Request"/s)
  })

  it('of a rate-limited route states the rate limit', async () => {
    expect((await gateway.identify({ userName: 'ada' })).headers).toMatchObject({
      'ratelimit-policy': '"admin";q=10000;w=1',
      ratelimit: expect.stringMatching(/^"admin";r=\d+;t=\d+$/),
    })
  })
})

describe('CORS (decisions.md, Beyond the document)', () => {
  it('is answered before the key check, for SDK routes only', async () => {
    const answer = await gateway.call('OPTIONS', '/v2/sdk/identify-user', { origin: 'https://shop.example' })
    expect(answer.status).toBe(204)
    expect(answer.headers).toMatchObject({
      'access-control-allow-origin': '*',
      'access-control-allow-methods': 'POST',
      'access-control-allow-headers': expect.stringContaining('X-Api-Key'),
    })
    expect((await gateway.visit({ userName: 'ada' })).headers['access-control-allow-origin']).toBe('*')
    expect((await gateway.call('POST', '/v2/sdk/identify-user')).headers['access-control-allow-origin']).toBe('*')
    expect((await gateway.identify({ userName: 'ada' })).headers).not.toHaveProperty('access-control-allow-origin')
  })
})

describe('too many requests', () => {
  it('of one key get 429 with Retry-After, and another key is not affected', async () => {
    const rateLimits = { admin: { perSecond: 0.1, burst: 2 }, sdk: { perSecond: 0.1, burst: 1 } }
    const limited = await startGateway({ project: { rateLimits } })
    const statuses = []
    for (let i = 0; i < 3; i += 1) statuses.push(await limited.identify({ userName: 'ada' }))
    const other = await limited.identify({ userName: 'ada' }, limited.keys.adminT)
    await limited.stop()
    expect(statuses.map(({ status }) => status)).toEqual([200, 200, 429])
    expect(statuses[2]?.headers['retry-after']).toMatch(/^\d+$/)
    expect(statuses[2]?.body).toEqual({ status: 429, error: 'Too Many Requests', message: expect.any(String) })
    expect(other.status).toBe(200)
  })

  it('in flight get 503 with Retry-After', async () => {
    const busy = await startGateway({ maxInFlight: 1, besides: gateway })
    const answers = await Promise.all(Array.from({ length: 20 }, () => busy.identify({ userName: 'ada' })))
    await busy.stop()
    const refused = answers.filter(({ status }) => status === 503)
    expect(refused.length).toBeGreaterThan(0)
    expect(answers.some(({ status }) => status === 200)).toBe(true)
    expect(refused[0]?.headers['retry-after']).toBe('1')
  })
})

describe('an internal error', () => {
  it('is a 500 that does not reveal the cause', async () => {
    const catalog = {
      ...(await import('@nextvisit/catalog/test/static-catalog.ts')).staticCatalog([]),
      keyByHash: () => {
        throw new Error('secret cause')
      },
    }
    const broken = await startGateway({ catalog, besides: gateway })
    const answer = await broken.identify({ userName: 'ada' })
    await broken.stop()
    expect(answer.body).toEqual({ status: 500, error: 'Internal Server Error', message: 'Internal Server Error' })
  })
})

describe('a stop of the server', () => {
  it('answers a request that was on its way on a kept-alive connection', async () => {
    const ending = await startGateway({ besides: gateway })
    const { socket, read } = rawSocket(ending.port)
    const request = `GET /livez HTTP/1.1\r\nHost: x\r\n\r\n`
    socket.write(request)
    await until(() => read().includes('available'))
    const closed = new Promise((resolve) => socket.once('close', resolve))
    const stopped = ending.stopServer()
    socket.write(request)
    await Promise.all([stopped, closed])
    await ending.stop()
    expect(read()).toMatch(/available.*HTTP\/1\.1 200 OK.*Connection: close.*available/s)
  })

  it('finishes requests in flight with Connection: close, and accepts no more', async () => {
    const { promise: allArrived, resolve: letGo } = Promise.withResolvers<void>()
    const slow = await startService({
      lookUpUsers: async ({ questions }) => {
        await allArrived
        return { answers: questions.map(() => ({ existence: 'exists' })) }
      },
    })
    const ending = await startGateway({ besides: gateway, services: { 'user-projector': slow.url } })
    const underWay = Array.from({ length: 20 }, (_, i) => ending.track({ userName: `ada-${i}`, eventName: 'a' }))
    await until(() => ending.received() === 20)
    const stopped = ending.stopServer()
    await expect(ending.identify({ userName: 'ada' })).rejects.toThrow('ECONNREFUSED')
    letGo()
    const answers = await Promise.all(underWay)
    await stopped
    await ending.stop()
    await slow.stop()
    expect(answers.map(({ status }) => status)).toEqual(answers.map(() => 202))
    expect(answers.map(({ headers }) => headers.connection)).toEqual(answers.map(() => 'close'))
  })

  it('is not ready from the beginning of a stop, but answers new callers until the delay is over', async () => {
    const ending = await startGateway({ besides: gateway, shutdownDelayMs: 1_000 })
    expect((await ending.call('GET', '/readyz')).status).toBe(200)
    const stopped = ending.stopServer()
    const ready = await ending.call('GET', '/readyz')
    const { status, headers } = await ending.identify({ userName: 'ada' })
    await stopped
    await expect(ending.identify({ userName: 'ada' })).rejects.toThrow('ECONNREFUSED')
    await ending.stop()
    expect([ready.status, JSON.stringify(ready.body)]).toEqual([503, expect.stringContaining('The gateway stops')])
    expect([status, headers.connection]).toEqual([200, 'close'])
  })
})
