import http from 'node:http'
import https from 'node:https'
import type { AddressInfo, Socket } from 'node:net'
import { text } from 'node:stream/consumers'
import { onTestFinished } from 'vitest'

/** A request that the receiver has got. */
export interface Received {
  readonly headers: http.IncomingHttpHeaders
  readonly body: string
  readonly path: string
}

type Answer = (received: Received, response: http.ServerResponse, socket: Socket) => void

interface ReceiverOptions {
  /** Answers a request. Default: 204. */
  readonly answer?: Answer
  /** Default: plain http. */
  readonly tls?: https.ServerOptions
  /** Default: `127.0.0.1`. */
  readonly host?: string
}

/** Starts an endpoint of webhooks on loopback, until the test ends. */
export async function startReceiver({ answer = answerOk, tls, host = '127.0.0.1' }: ReceiverOptions = {}) {
  const received: Received[] = []
  let [connections, current] = [0, answer]
  const listen = async (request: http.IncomingMessage, response: http.ServerResponse): Promise<void> => {
    const body = await text(request).catch(() => undefined)
    if (body === undefined) return
    const one = { headers: request.headers, body, path: request.url ?? '' }
    received.push(one)
    current(one, response, request.socket)
  }
  const onRequest = (request: http.IncomingMessage, response: http.ServerResponse) => void listen(request, response)
  const server = tls ? https.createServer(tls, onRequest) : http.createServer(onRequest)
  server.on(tls ? 'secureConnection' : 'connection', () => (connections += 1))
  server.on('clientError', () => {})
  await new Promise<void>((resolve) => server.listen(0, host, resolve))
  const { port } = server.address() as AddressInfo
  const stop = async (): Promise<void> => {
    server.closeAllConnections()
    await new Promise((resolve) => server.close(resolve))
  }
  onTestFinished(stop)
  return {
    port,
    url: `${tls ? 'https' : 'http'}://127.0.0.1:${port}/hooks`,
    received,
    countConnections: () => connections,
    answerWith: (next: Answer) => {
      current = next
    },
    stop,
  }
}

function answerOk(_: Received, response: http.ServerResponse): void {
  response.writeHead(204).end()
}
