import { once } from 'node:events'
import type { RequestListener, ServerResponse } from 'node:http'
import { connect } from 'node:net'
import { reportUnread } from '@nextvisit/service-kit'
import { until } from '@nextvisit/testing'
import { describe, expect, it, onTestFinished } from 'vitest'
import { createHttpServer, type HttpServerOptions } from './http-server.ts'

/** Larger than the buffers of a connection. */
const ANSWER = 'x'.repeat(20_000_000)
const REQUEST = 'GET / HTTP/1.1\r\nHost: x\r\n\r\n'

/** A server, the responses that it has sent, and callers who read nothing. */
async function givenServer(bounds: Pick<HttpServerOptions, 'maxConnections' | 'maxUnreadBytes'>, answer = ANSWER) {
  const responses: ServerResponse[] = []
  const listener: RequestListener = (_request, response) => {
    responses.push(response)
    response.end(answer)
    reportUnread(response, answer.length)
  }
  const server = createHttpServer({ host: '127.0.0.1', port: 0, listener, ...bounds })
  const { port } = await server.start()
  onTestFinished(server.stop)
  const givenCaller = () => {
    const socket = connect(port, '127.0.0.1')
    socket.pause()
    socket.on('error', () => undefined)
    onTestFinished(() => void socket.destroy())
    return socket
  }
  return { responses, givenCaller }
}

describe('the server for browsers', () => {
  it('closes the connections that have waited longest if unread answers exceed their bound', async () => {
    const { responses, givenCaller } = await givenServer({ maxUnreadBytes: 3 * ANSWER.length })
    for (let nth = 1; nth <= 5; nth += 1) {
      givenCaller().write(REQUEST)
      await until(() => responses.length === nth)
    }
    await until(() => responses.filter(({ destroyed }) => destroyed).length >= 2)
    expect(responses.map(({ destroyed }) => destroyed)).toEqual([true, true, false, false, false])
  })

  it('closes further connections, and idle ones make room for them', async () => {
    const { responses, givenCaller } = await givenServer({ maxConnections: 2 }, 'ok')
    const idle = [givenCaller(), givenCaller()]
    for (const [index, socket] of idle.entries()) {
      socket.resume()
      socket.write(REQUEST)
      await until(() => responses.length === index + 1)
    }
    const dropped = givenCaller()
    dropped.resume()
    await once(dropped, 'close')
    await until(() => idle.every(({ destroyed }) => destroyed))
    givenCaller().write(REQUEST)
    await until(() => responses.length === 3)
    expect(responses.map(({ statusCode }) => statusCode)).toEqual([200, 200, 200])
  })

  it('closes a connection with more than twenty requests without an answer, and works on no more of them', async () => {
    let [seen, isSlow] = [0, true]
    const listener: RequestListener = (_request, response) => {
      seen += 1
      if (!isSlow) response.end('ok')
    }
    const server = createHttpServer({ host: '127.0.0.1', port: 0, listener })
    const { port } = await server.start()
    onTestFinished(server.stop)
    const send = (requests: number) => {
      const socket = connect(port, '127.0.0.1').resume()
      socket.on('error', () => undefined)
      onTestFinished(() => void socket.destroy())
      socket.write(REQUEST.repeat(requests))
      return socket
    }
    const flooding = send(2_000)
    await until(() => flooding.destroyed)
    expect(seen).toBe(20)
    isSlow = false
    const allowed = send(20)
    await until(() => seen === 40)
    expect(allowed.destroyed).toBe(false)
  })
})
