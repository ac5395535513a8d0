import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'
import { onTestFinished } from 'vitest'

/** A received item. */
interface ArrivedItem {
  readonly type: string
  readonly userName: string
  readonly eventName?: string
  readonly idempotencyKey: string
}

interface ArrivedRequest {
  readonly path: string
  readonly headers: NodeJS.Dict<string | string[]>
  readonly bytes: number
  readonly items: readonly ArrivedItem[]
  /** Time of arrival, by `performance.now()`. */
  readonly at: number
}

/** Answer to a request. `hang`: none. `cut`: the connection ends. An array: the results of a batch. */
type ScriptedAnswer =
  | 'hang'
  | 'cut'
  | readonly object[]
  | { readonly status: number; readonly headers?: Readonly<Record<string, string>>; readonly body?: string | object }

/** Returns the answer to a request. `count`: number of earlier requests. */
export type Script = (request: ArrivedRequest, count: number) => ScriptedAnswer | Promise<ScriptedAnswer>

/** Starts a server on loopback with scripted answers, for cases that are rare with the real gateway. */
export async function givenScriptedGateway(script: Script) {
  const requests: ArrivedRequest[] = []
  let open = 0
  const server = createServer((request, response) => {
    open += 1
    response.on('close', () => (open -= 1))
    void answerRequest(request, response)
  })
  const answerRequest = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const body = await text(request).catch(() => '')
    const { items = [] } = (body === '' ? {} : JSON.parse(body)) as { readonly items?: readonly ArrivedItem[] }
    const { url: path = '', headers } = request
    const arrived = { path, headers, bytes: Buffer.byteLength(body), items, at: performance.now() }
    const answer = await script(arrived, requests.push(arrived) - 1)
    if (answer === 'hang') return
    if (answer === 'cut') {
      response.destroy()
      return
    }
    const { status, headers: answerHeaders, body: answerBody = '' } = 'status' in answer ? answer : batchAnswer(answer)
    response.writeHead(status, answerHeaders)
    response.end(typeof answerBody === 'string' ? answerBody : JSON.stringify(answerBody))
  }
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => {
    server.close()
    server.closeAllConnections()
  })
  // `open` returns the number of requests in flight.
  return { host: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, requests, open: () => open }
}

function batchAnswer(results: readonly object[]): { status: number; headers?: Record<string, string>; body: object } {
  return { status: 200, body: { results } }
}

/** Returns the gateway's results for recorded items. */
export function recorded(items: readonly ArrivedItem[]): readonly object[] {
  return items.map(({ type, idempotencyKey }) =>
    type === 'identify'
      ? { status: 200, message: 'ok', userId: idempotencyKey }
      : { status: 202, requestId: idempotencyKey, message: 'Event recorded.' },
  )
}

export function refusal(status: number, message = 'No'): { readonly status: number; readonly body: object } {
  return { status, body: { status, error: 'Error', message } }
}

/** Returns the result of a refused item. */
export const refused = (status: number) => refusal(status).body
