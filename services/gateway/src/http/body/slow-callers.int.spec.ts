import { once } from 'node:events'
import { connect } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { gzipSync } from 'node:zlib'
import { until } from '@nextvisit/testing'
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { type GatewayFixture, startGateway } from '../../../test/gateway-fixture.ts'
import { givenGateway, givenService } from '../../../test/given-gateway.ts'

const IDENTIFY = '/v2/admin/identify-user'
const BODY = '{"userName":"ada"}'

let gateway: GatewayFixture
beforeAll(async () => {
  gateway = await startGateway()
})
afterAll(() => gateway.stop())

/** A caller who writes raw bytes. */
async function givenCaller(to: GatewayFixture) {
  const socket = connect(to.port, '127.0.0.1')
  let text = ''
  socket.on('data', (chunk) => (text += chunk.toString()))
  socket.on('error', () => undefined)
  onTestFinished(() => void socket.destroy())
  const closed = once(socket, 'close')
  await once(socket, 'connect')
  return { socket, closed, read: () => text }
}

function head(key: string, more: readonly string[], path = IDENTIFY): string {
  const lines = [`POST ${path} HTTP/1.1`, 'Host: x', `X-Api-Key: ${key}`, 'Content-Type: application/json', ...more]
  return `${lines.join('\r\n')}\r\n\r\n`
}

/** Sends a request without the end of its body. */
async function givenUnfinished(to: GatewayFixture, key: string, body = BODY, length = body.length + 1) {
  const caller = await givenCaller(to)
  const path = key.startsWith('nv_sdk') ? '/v2/sdk/identify-user' : IDENTIFY
  caller.socket.write(head(key, [`Content-Length: ${length}`], path) + body)
  return caller
}

const zipped = (userName: string) => gzipSync(JSON.stringify({ userName, eventName: 'a', filling: 'x'.repeat(90_000) }))
const bodyOf = (bytes: number) => JSON.stringify({ userName: 'ada', filling: 'x'.repeat(bytes - 31) })

describe('a body that does not arrive (decisions.md, Order of checks)', () => {
  it('gets 408 in the form of all errors and loses its connection; others are answered meanwhile', async () => {
    const slow = await givenUnfinished(gateway, gateway.keys.admin)
    await until(() => gateway.received() > 0)
    expect((await gateway.identify({ userName: 'ada' })).status).toBe(200)
    expect(slow.read()).toBe('')
    await slow.closed
    expect(slow.read()).toMatch(/^HTTP\/1\.1 408 .*x-request-id.*connection: close/is)
    expect(slow.read()).toContain('{"status":408,"error":"Request Timeout","message":"The body must arrive')
  })

  it('takes no place among the requests in flight', async () => {
    const small = await givenGateway({ besides: gateway, maxInFlight: 1 })
    await givenUnfinished(small, small.keys.sdk)
    await until(() => small.received() === 1)
    expect((await small.identify({ userName: 'ada' })).status).toBe(200)
  })

  it('counts among the unfinished bodies of its key, which may be a quarter of the requests in flight; another key is not affected', async () => {
    const small = await givenGateway({ besides: gateway, maxInFlight: 8 })
    const two = [await givenUnfinished(small, small.keys.admin), await givenUnfinished(small, small.keys.admin)]
    await until(() => small.received() === 2)
    const third = await givenUnfinished(small, small.keys.admin)
    await until(() => third.read().endsWith('}'))
    expect(third.read()).toMatch(/^HTTP\/1\.1 429 .*retry-after: 1/is)

    const other = await givenUnfinished(small, small.keys.sdk)
    other.socket.write(' ')
    await until(() => other.read().endsWith('}'))
    expect(other.read()).toMatch(/^HTTP\/1\.1 200 /)
    expect((await small.identify({ userName: 'ada' })).status).toBe(200)

    two[0]?.socket.write(' ')
    await until(() => two[0]?.read().endsWith('}') ?? false)
    const fourth = await givenUnfinished(small, small.keys.admin)
    fourth.socket.write(' ')
    await until(() => fourth.read().endsWith('}'))
    expect(fourth.read()).toMatch(/^HTTP\/1\.1 200 /)
  })

  it('of a caller without a key holds no place', async () => {
    const small = await givenGateway({ besides: gateway, maxInFlight: 1 })
    const strangers = await Promise.all(Array.from({ length: 50 }, () => givenUnfinished(small, 'nobody')))
    await until(() => strangers.every(({ read }) => read().startsWith('HTTP/1.1 401 ')))
    expect((await small.identify({ userName: 'ada' })).status).toBe(200)
  })
})

describe('a body in tiny chunks', () => {
  it('is refused after 1,024 chunks', async () => {
    const caller = await givenCaller(gateway)
    caller.socket.write(head(gateway.keys.admin, ['Transfer-Encoding: chunked']) + '1\r\n \r\n'.repeat(1_025))
    await until(() => caller.read().endsWith('}'))
    expect(caller.read()).toMatch(/^HTTP\/1\.1 400 .*at most 1024 chunks/is)
  })

  it('is not read to its end if the request is refused anyway', async () => {
    const caller = await givenCaller(gateway)
    caller.socket.write(head('nobody', ['Transfer-Encoding: chunked']))
    await until(() => caller.read().startsWith('HTTP/1.1 401 '))
    const timer = sleep(900, 'open')
    caller.socket.write('1\r\n \r\n'.repeat(1_025))
    expect(await Promise.race([caller.closed.then(() => 'closed'), timer])).toBe('closed')
  })

  it('is accepted with fewer chunks', async () => {
    const caller = await givenCaller(gateway)
    const chunks = BODY.replaceAll(/./g, '1\r\n$&\r\n')
    caller.socket.write(`${head(gateway.keys.admin, ['Transfer-Encoding: chunked'])}${chunks}0\r\n\r\n`)
    await until(() => caller.read().endsWith('}'))
    expect(caller.read()).toMatch(/^HTTP\/1\.1 200 /)
  })
})

describe('bytes in flight (decisions.md, Busy and broken)', () => {
  it('have a budget: a key that holds its share gets 503 with Retry-After, and another key finds room', async () => {
    const small = await givenGateway({ besides: gateway, maxBodyBytesInFlight: 1_048_576 })
    // A quarter of the free bytes: 2 bodies of 90,000 bytes, not 3.
    const body = bodyOf(90_000)
    const held = [
      await givenUnfinished(small, small.keys.admin, body),
      await givenUnfinished(small, small.keys.admin, body),
    ]
    await until(() => small.received() === 2)
    const refused = await small.call(
      'POST',
      IDENTIFY,
      { 'content-type': 'application/json', 'x-api-key': small.keys.admin },
      body,
    )
    expect(refused).toMatchObject({ status: 503, body: { message: 'Too many bytes at once: try again' } })
    expect(refused.headers['retry-after']).toBe('1')
    const headers = { 'content-type': 'application/json', 'x-api-key': small.keys.sdk }
    expect((await small.call('POST', '/v2/sdk/identify-user', headers, body)).status).toBe(200)
    for (const { socket } of held) socket.write(' ')
    await until(() => held.every(({ read }) => read().endsWith('}')))
    expect((await small.call('POST', IDENTIFY, { ...headers, 'x-api-key': small.keys.admin }, body)).status).toBe(200)
  })

  it('of stalled bodies without a key in their headers are released for complete ones', async () => {
    const small = await givenGateway({ besides: gateway, maxBodyBytesInFlight: 1_048_576 })
    const strangers = await Promise.all(
      Array.from({ length: 6 }, async () => {
        const caller = await givenCaller(small)
        caller.socket.write(
          head('', ['Content-Length: 100000'], '/v1/batch').replace('X-Api-Key: \r\n', '') + 'x'.repeat(99_999),
        )
        return caller
      }),
    )
    await until(() => small.received() === 6)
    const body = JSON.stringify({ writeKey: small.keys.admin, userId: 'ada', filling: 'x'.repeat(20_000) })
    const answers = []
    for (let sent = 0; sent < 20; sent += 1)
      answers.push(await small.call('POST', '/v1/identify', { 'content-type': 'application/json' }, body))
    expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([200]))
    expect(strangers.some(({ read }) => read().startsWith('HTTP/1.1 503 '))).toBe(true)
  })

  it('of gzip bodies that inflate a thousandfold are held for a few callers at once', async () => {
    // The share of unknown keys has room for 9, and 20 arrive at once.
    const small = await givenGateway({ besides: gateway, maxBodyBytesInFlight: 25_165_824 })
    const bomb = gzipSync(Buffer.alloc(511_000, ' '))
    const headers = { 'content-type': 'application/json', 'content-encoding': 'gzip' }
    const answers = await Promise.all(Array.from({ length: 20 }, () => small.call('POST', '/v1/batch', headers, bomb)))
    expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([401]))
  })

  it('are counted inflated', async () => {
    const { promise: gate, resolve: open } = Promise.withResolvers<void>()
    const slow = await givenService({
      lookUpUsers: async ({ questions }) => {
        await gate
        return { answers: questions.map(() => ({ existence: 'exists' })) }
      },
    })
    const services = { 'user-projector': slow.url }
    const small = await givenGateway({ besides: gateway, services, maxBodyBytesInFlight: 1_048_576 })
    const headers = { 'content-type': 'application/json', 'content-encoding': 'gzip', 'x-api-key': small.keys.admin }
    const track = (userName: string) => small.call('POST', '/v2/admin/track-event', headers, zipped(userName))
    const answers = [track('one'), track('two'), track('three'), track('four')]
    expect(await Promise.race(answers)).toMatchObject({
      status: 503,
      body: { message: expect.stringMatching(/bytes/) },
    })
    open()
    const statuses = (await Promise.all(answers)).map(({ status }) => status)
    expect(statuses.toSorted((one, other) => one - other)).toEqual([202, 202, 503, 503])
  })
})

describe('connections', () => {
  it('that are idle are closed if there are too many', async () => {
    const small = await givenGateway({ besides: gateway, maxConnections: 3 })
    const idle = [await givenCaller(small), await givenCaller(small), await givenCaller(small)]
    for (const { socket } of idle) socket.write('GET /livez HTTP/1.1\r\nHost: x\r\n\r\n')
    await until(() => idle.every(({ read }) => read().includes('available')))
    const newcomer = await givenCaller(small)
    await newcomer.closed
    await Promise.all(idle.map(({ closed }) => closed))
    expect((await small.identify({ userName: 'ada' })).status).toBe(200)
  })
})

describe('a stop of the server', () => {
  it.each([
    ['sends its body at once', 'grace', []],
    ['asks first whether it may send its body', 'henry', ['Expect: 100-continue']],
  ])('answers a request in flight with Connection: close if its caller %s', async (_caller, userName, headers) => {
    const { promise: gate, resolve: open } = Promise.withResolvers<void>()
    const slow = await givenService({
      lookUpUsers: async ({ questions }) => {
        await gate
        return { answers: questions.map(() => ({ existence: 'exists' })) }
      },
    })
    const ending = await startGateway({ besides: gateway, services: { 'user-projector': slow.url } })
    // Another user in each case: the gateway remembers who exists, and would answer without asking.
    const body = JSON.stringify({ userName, eventName: 'a' })
    const caller = await givenCaller(ending)
    const silent = await givenCaller(ending)
    const length = `Content-Length: ${body.length}`
    caller.socket.write(head(ending.keys.admin, [length, ...headers], '/v2/admin/track-event') + body)
    await until(() => ending.received() === 1)
    const stopped = ending.stopServer().then(() => 'stopped')
    open()
    await caller.closed
    expect(caller.read()).toMatch(/HTTP\/1\.1 202 .*connection: close/is)
    // The server would be killed after 5 s. No request is in flight, so it does not wait for a silent caller.
    expect(await Promise.race([stopped, sleep(4_000)])).toBe('stopped')
    await silent.closed
    await ending.stop()
  })
})
