import { setTimeout as sleep } from 'node:timers/promises'
import { describe, expect, it, onTestFinished } from 'vitest'
import { startReceiver } from '../../test/start-receiver.ts'
import { createConnector } from './connector.ts'
import { LOOPBACK } from './networks.ts'
import { type AttemptRequest, createEndpointAgent, parseRetryAfter, sendRequest } from './send-request.ts'

const HOUR_MS = 3_600_000

function givenAgent() {
  const agent = createEndpointAgent('http:', createConnector({ networks: LOOPBACK, isHttpAllowed: true }))
  onTestFinished(() => agent.destroy())
  const send = (url: string, own: Partial<AttemptRequest> = {}) =>
    sendRequest({ url: new URL(url), agent, headers: { 'content-type': 'application/json' }, body: '{"é":1}', ...own })
  return { agent, send }
}

/** A check whose answer takes long the nth time. */
function slowIn(nth: number) {
  let asked = 0
  return async () => {
    asked += 1
    if (asked === nth) await sleep(600)
    return true
  }
}

describe('an attempt', () => {
  it('posts the body, and is delivered by any 2xx', async () => {
    const { url, received, answerWith } = await startReceiver()
    const { send } = givenAgent()
    for (const status of [200, 201, 202, 204, 299]) {
      answerWith((_, response) => response.writeHead(status).end(status === 204 ? undefined : 'thanks'))
      expect(await send(url)).toMatchObject({
        outcome: 'delivered',
        httpStatus: status,
        response: status === 204 ? '' : 'thanks',
      })
    }
    expect(received[0]).toMatchObject({
      body: '{"é":1}',
      path: '/hooks',
      headers: { 'content-type': 'application/json', 'content-length': '8' },
    })
  })

  it('follows no redirect', async () => {
    const elsewhere = await startReceiver()
    const { url } = await startReceiver({
      answer: (_, response) => response.writeHead(307, { location: elsewhere.url }).end(),
    })
    expect(await givenAgent().send(url)).toMatchObject({
      outcome: 'refused',
      httpStatus: 307,
      error: 'Redirects are not followed',
    })
    expect(elsewhere.countConnections()).toBe(0)
  })

  it('calls no other 3xx a redirect', async () => {
    const { url } = await startReceiver({ answer: (_, response) => response.writeHead(304).end() })
    const refused = await givenAgent().send(url)
    expect(refused).toMatchObject({ outcome: 'refused', httpStatus: 304 })
    expect(refused).not.toHaveProperty('error')
  })

  it('tells how long to wait, in seconds or as a date, at most a day', async () => {
    const { url } = await startReceiver({
      answer: (_, response) => response.writeHead(429, { 'retry-after': '120' }).end('slow down'),
    })
    expect(await givenAgent().send(url)).toMatchObject({
      outcome: 'refused',
      httpStatus: 429,
      retryAfterMs: 120_000,
      response: 'slow down',
    })
    const now = Date.parse('2026-11-28T10:00:00Z')
    expect(parseRetryAfter('Sat, 28 Nov 2026 11:00:00 GMT', now)).toBe(HOUR_MS)
    expect(parseRetryAfter('999999999', now)).toBe(24 * HOUR_MS)
    expect(parseRetryAfter('Fri, 01 Jan 2100 00:00:00 GMT', now)).toBe(24 * HOUR_MS)
    for (const none of [undefined, '', '0', '-5', 'soon', '1e9', 'Sat, 28 Nov 2026 09:00:00 GMT'])
      expect(parseRetryAfter(none, now)).toBeUndefined()
  })

  it('keeps the first 4 KB of a response, as text that Postgres can hold', async () => {
    const { url, answerWith } = await startReceiver({ answer: (_, response) => response.end('x'.repeat(100_000)) })
    const { send } = givenAgent()
    expect(await send(url)).toMatchObject({ outcome: 'delivered', response: 'x'.repeat(4_096) })
    answerWith((_, response) => response.end(Buffer.from([0x61, 0, 0xff, 0x62])))
    expect(await send(url)).toMatchObject({ response: 'a\uFFFD\uFFFDb' })
  })

  it('drops the rest of an endless response, with its connection', async () => {
    const dropped = Promise.withResolvers<void>()
    const { url } = await startReceiver({
      answer: (_, response, socket) => {
        socket.once('close', () => dropped.resolve())
        const write = () =>
          void (response.write('y'.repeat(1_000)) ? setImmediate(write) : response.once('drain', write))
        write()
      },
    })
    expect(await givenAgent().send(url)).toMatchObject({ outcome: 'delivered', response: 'y'.repeat(4_096) })
    await dropped.promise
  })

  it('counts once the headers have come, however slowly the body drips', async () => {
    const { url } = await startReceiver({
      answer: (_, response, socket) => {
        response.writeHead(200).flushHeaders()
        const timer = setInterval(() => response.write('z'), 50)
        socket.once('close', () => clearInterval(timer))
      },
    })
    const { send } = givenAgent()
    const slow = await send(url)
    expect(slow).toMatchObject({ outcome: 'delivered', response: expect.stringMatching(/^z+$/) })
    // Not even the end of all time changes that.
    expect(await send(url, { withinMs: 500 })).toMatchObject({ outcome: 'delivered' })
  })

  it('waits through some interim responses, and ends with too many', async () => {
    const { url, answerWith } = await startReceiver({
      answer: (_, response, socket) => {
        socket.write('HTTP/1.1 103 Early Hints\r\n\r\n'.repeat(20))
        response.writeHead(204).end()
      },
    })
    const { send } = givenAgent()
    expect(await send(url)).toMatchObject({ outcome: 'delivered', httpStatus: 204 })
    answerWith((_, __, socket) => void socket.write('HTTP/1.1 100 Continue\r\n\r\n'.repeat(21)))
    expect(await send(url)).toMatchObject({
      outcome: 'unreachable',
      error: 'More than 20 interim responses (1xx) came (TOO_MANY_INTERIM)',
    })
  })

  it('keeps its place among the requests for a while if the response is a flood', async () => {
    const { url, answerWith } = await startReceiver({
      answer: (_, __, socket) => {
        socket.write('HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n')
        socket.write('1\r\nz\r\n'.repeat(3_000))
      },
    })
    const { send } = givenAgent()
    const afterASecond = sleep(1_000, 'in flight')
    const [chunks, first] = [send(url), await Promise.race([send(url), afterASecond])]
    answerWith((_, __, socket) => void socket.write('HTTP/1.1 100 Continue\r\n\r\n'.repeat(3_000)))
    expect([first, await Promise.race([send(url), sleep(1_000, 'in flight')])]).toEqual(['in flight', 'in flight'])
    expect(await chunks).toMatchObject({ outcome: 'delivered', response: 'z'.repeat(65) })
  })

  it('counts although the connection is reset within the body', async () => {
    const { url } = await startReceiver({
      answer: (_, response, socket) => {
        response.writeHead(500, { 'content-length': '10' })
        response.write('half', () => socket.resetAndDestroy())
      },
    })
    expect(await givenAgent().send(url)).toMatchObject({ outcome: 'refused', httpStatus: 500 })
  })

  it('ends if no response comes in time, also one whose headers drip', async () => {
    const { url, answerWith } = await startReceiver({ answer: () => {} })
    const { send } = givenAgent()
    const timeout = { outcome: 'timeout', error: 'No response came in time' }
    expect(await send(url, { withinMs: 100 })).toMatchObject(timeout)
    answerWith((_, __, socket) => {
      socket.write('HTTP/1.1 200 OK\r\nx-slow: ')
      const timer = setInterval(() => socket.write('a'), 20)
      socket.once('close', () => clearInterval(timer))
    })
    expect(await send(url, { withinMs: 300 })).toMatchObject(timeout)
  })

  it('does not fail because the check whether it is to be sent takes long', async () => {
    const { url, received } = await startReceiver()
    const { send } = givenAgent()
    const attempt = (nth: number) => send(url, { isToSend: slowIn(nth), withinMs: 300 })
    expect(await attempt(2), 'on its connection').toBeUndefined()
    expect(received).toEqual([])
    expect(await attempt(1), 'before its time begins').toMatchObject({ outcome: 'delivered' })
  })

  it('fails if the connection is reset, or refused', async () => {
    const { url, stop } = await startReceiver({ answer: (_, __, socket) => socket.resetAndDestroy() })
    const { send } = givenAgent()
    expect(await send(url)).toMatchObject({ outcome: 'unreachable', error: 'The connection was closed (ECONNRESET)' })
    await stop()
    expect(await send(url)).toMatchObject({
      outcome: 'unreachable',
      error: 'The connection was refused (ECONNREFUSED)',
    })
  })

  it('fails if the response is no HTTP, or another protocol', async () => {
    const { url, answerWith } = await startReceiver({ answer: (_, __, socket) => socket.end('hello\r\n\r\n') })
    const { send } = givenAgent()
    expect(await send(url)).toMatchObject({ outcome: 'unreachable' })
    answerWith((_, __, socket) => socket.write('HTTP/1.1 101 Switching\r\nupgrade: x\r\nconnection: upgrade\r\n\r\n'))
    expect(await send(url, { withinMs: 1_000 })).toMatchObject({ outcome: 'unreachable' })
    answerWith((_, response) => response.writeHead(200, { 'x-large': 'h'.repeat(100_000) }).end())
    expect(await send(url)).toMatchObject({ outcome: 'unreachable' })
  })

  it('uses an open connection again, and sends again at once if it was closed', async () => {
    const { url, received, countConnections, answerWith } = await startReceiver()
    const { send } = givenAgent()
    await send(url)
    await send(url)
    expect(countConnections()).toBe(1)
    answerWith((_, response, socket) => {
      answerWith((__, second) => second.end())
      void response
      socket.resetAndDestroy()
    })
    expect(await send(url)).toMatchObject({ outcome: 'delivered' })
    expect([received.length, countConnections()]).toEqual([4, 2])
  })

  it('is not sent, nor sent again, once it must not be sent any more', async () => {
    const { url, received, countConnections, answerWith } = await startReceiver()
    const { send } = givenAgent()
    const answers = [false, true, false, true, true, true, false]
    const isToSend = async () => answers.shift() ?? true
    expect(await send(url, { isToSend })).toBeUndefined()
    expect(countConnections()).toBe(0)
    // Once the connection is open.
    expect(await send(url, { isToSend })).toBeUndefined()
    expect(received).toEqual([])
    expect(await send(url, { isToSend })).toMatchObject({ outcome: 'delivered' })
    answerWith((_, __, socket) => void socket.resetAndDestroy())
    expect(await send(url, { isToSend })).toBeUndefined()
    expect([received.length, answers]).toEqual([2, []])
    expect(await send(url, { isToSend: () => Promise.reject(new Error('not known')) })).toBeUndefined()
    expect(received).toHaveLength(2)
  })

  it('has no result if the process ends it', async () => {
    const { url } = await startReceiver({ answer: () => {} })
    const ending = new AbortController()
    const sent = givenAgent().send(url, { signal: ending.signal })
    await sleep(50)
    ending.abort()
    expect(await sent).toBeUndefined()
  })

  it('is not sent if the process has ended it before', async () => {
    const { url, received, countConnections } = await startReceiver()
    expect(await givenAgent().send(url, { signal: AbortSignal.abort() })).toBeUndefined()
    expect([received, countConnections()]).toEqual([[], 0])
  })
})
