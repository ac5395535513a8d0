import type { ServerResponse } from 'node:http'
import { connect } from 'node:net'
import { until } from '@nextvisit/testing'
import { describe, expect, it, onTestFinished } from 'vitest'
import { createHttpServer, type HttpServerOptions } from '../http-server.ts'
import { writeText } from './write-answer.ts'

/** Larger than the buffers of a connection. */
const ANSWER = 'x'.repeat(20_000_000)
const REQUEST = 'GET / HTTP/1.1\r\nHost: x\r\n\r\n'

/** A server that always answers with {@link ANSWER}, and its responses in order. */
async function givenServer(bounds: Pick<HttpServerOptions, 'maxUnreadBytes' | 'readWithinMs'>) {
  const responses: ServerResponse[] = []
  const listener: HttpServerOptions['listener'] = (_request, response) => {
    responses.push(response)
    writeText(response, 200, ANSWER, {})
  }
  const server = createHttpServer({
    portVariable: 'GATEWAY_PORT',
    host: '127.0.0.1',
    port: 0,
    maxConnections: 100,
    ...bounds,
    listener,
  })
  const { port } = await server.start()
  onTestFinished(server.stop)

  /** A caller who does not read the answer. */
  async function givenReader() {
    const socket = connect(port, '127.0.0.1')
    socket.pause()
    socket.on('error', () => undefined)
    onTestFinished(() => void socket.destroy())
    const before = responses.length
    socket.write(REQUEST)
    await until(() => responses.length > before)
    return socket
  }
  return { responses, givenReader }
}

describe('a caller who does not read the answer (decisions.md, Slow and large)', () => {
  it('loses the connection after the time limit', async () => {
    const { responses, givenReader } = await givenServer({ readWithinMs: 200 })
    await givenReader()
    await until(() => responses.every(({ destroyed }) => destroyed))
    expect(responses.map(({ writableFinished }) => writableFinished)).toEqual([false])
  })

  it('loses the connection at once if unread answers exceed their bound: the oldest makes room', async () => {
    const { responses, givenReader } = await givenServer({ maxUnreadBytes: 3 * ANSWER.length, readWithinMs: 600_000 })
    for (let n = 0; n < 5; n += 1) await givenReader()
    await until(() => responses.filter(({ destroyed }) => destroyed).length >= 2)
    expect(responses.map(({ destroyed }) => destroyed)).toEqual([true, true, false, false, false])
  })

  it('takes nothing from a caller who reads', async () => {
    const { givenReader } = await givenServer({ maxUnreadBytes: 3 * ANSWER.length, readWithinMs: 600_000 })
    for (let n = 0; n < 5; n += 1) await givenReader()
    const reader = await givenReader()
    let read = 0
    reader.on('data', (chunk: Buffer) => (read += chunk.byteLength))
    reader.resume()
    await until(() => read > ANSWER.length)
    for (let n = 0; n < 5; n += 1) {
      reader.write(REQUEST)
      const before = read
      await until(() => read > before + ANSWER.length)
    }
    expect(reader.destroyed).toBe(false)
  })
})
