import { once } from 'node:events'
import type { RequestListener } from 'node:http'
import { connect } from 'node:net'
import { text } from 'node:stream/consumers'
import { describe, expect, it, onTestFinished } from 'vitest'
import { createHttpServer } from './http-server.ts'
import { writeText } from './answer/write-answer.ts'

/** A server, and callers who never close their side of a connection. */
async function givenServer(listener: RequestListener, maxConnections = 10) {
  const options = { portVariable: 'GATEWAY_PORT', host: '127.0.0.1', port: 0, maxConnections }
  const server = createHttpServer({ ...options, listener })
  const { port } = await server.start()
  const call = (request: string) => {
    const socket = connect({ port, host: '127.0.0.1', allowHalfOpen: true })
    onTestFinished(() => void socket.destroy())
    socket.write(request)
    return socket
  }
  return { call, stop: server.stop }
}

const answerLate: RequestListener = (request, response) => {
  request.resume()
  setTimeout(() => writeText(response, 200, 'recorded', {}), 100)
}

describe('a connection whose caller never ends it (decisions.md, Slow and large)', () => {
  it.each([
    ['asked for a tunnel', 'CONNECT example.com:80 HTTP/1.1\r\nHost: x\r\n\r\n', 400],
    ['sent no HTTP', 'rubbish\r\n\r\n', 400],
    ['never sent all its headers', 'POST / HTTP/1.1\r\nHost: x\r\n', 408],
  ])('makes room for others once it was refused, and lets the server stop: it %s', async (_what, request, status) => {
    const { call, stop } = await givenServer(answerLate, 1)
    const [refusal] = await once(call(request), 'data')
    expect(String(refusal)).toContain(`HTTP/1.1 ${status} `)
    await expect.poll(() => askedOf(call), { timeout: 20_000, interval: 500 }).toContain('recorded')
    await stop()
  })
})

/** Returns the answer to a new connection; nothing if there is no room for it. */
async function askedOf(call: (request: string) => ReturnType<typeof connect>): Promise<string> {
  return text(call('GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n')).catch(() => '')
}

it('gets the answer to a complete request that is followed by bytes that are not HTTP, and is then closed', async () => {
  const { call, stop } = await givenServer(answerLate)
  const socket = call('POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n\r\n{}}}')
  const answer = await text(socket)
  expect(answer).toMatch(/^HTTP\/1.1 200 OK[^]*Connection: close[^]*recorded$/)
  expect(answer.match(/HTTP/g)).toHaveLength(1)
  await stop()
})

it.each([
  ['has an invalid chunk', 'POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\nrubbish\r\n'],
  ['ends within its body', 'POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 20\r\n\r\n{}'],
  ['asks for a tunnel', 'CONNECT example.com:80 HTTP/1.1\r\nHost: x\r\n\r\n'],
])(
  'gets the answer to a complete request before the refusal of the next one on its connection: it %s',
  async (_what, next) => {
    const { call, stop } = await givenServer(answerLate)
    const complete = 'POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n\r\n{}'
    const socket = call(`${complete}${complete}${next}`)
    // The end of a connection within a request is an error; between requests, the caller has left.
    if (next.endsWith('{}')) socket.end()
    const statuses = (await text(socket)).match(/(?<=HTTP\/1.1 )\d+/g)
    expect(statuses).toEqual(['200', '200', '400'])
    await stop()
  },
)

it('adds one listener for the end of an answer, however many invalid chunks arrive meanwhile', async () => {
  const listeners: number[] = []
  const { call, stop } = await givenServer((request, response) => {
    request.resume()
    setTimeout(() => {
      listeners.push(response.listenerCount('close'))
      writeText(response, 200, 'recorded', {})
    }, 300)
  })
  const quiet = call('GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n')
  const noisy = call('POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n\r\n{}')
  noisy.setNoDelay(true)
  const rubbish = setInterval(() => noisy.write('}'), 10)
  // Before the answer, since writes to a closed connection fail.
  setTimeout(() => clearInterval(rubbish), 200)
  await Promise.all([text(quiet), text(noisy)])
  const [first = 0, second = 0] = listeners
  expect(Math.abs(first - second)).toBe(1)
  await stop()
})

it('gets an immediate refusal of a request with an invalid chunked body', async () => {
  const { call, stop } = await givenServer((request) => request.resume())
  const chunked = 'POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\nrubbish\r\n'
  expect(await text(call(chunked))).toMatch(/^HTTP\/1.1 400 /)
  await stop()
})
