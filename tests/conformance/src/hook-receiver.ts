import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'

/** A receiver of webhooks on this machine. */
export interface HookReceiver {
  readonly url: string
  /** Sets the statuses of the next answers on a path, in turn. The last one stays. Default: 200. */
  readonly answerWith: (path: string, statuses: readonly [number, ...number[]]) => void
  /** Returns the number of requests on a path. */
  readonly received: (path: string) => number
  readonly close: () => void
}

/** Starts a receiver on a free port of the loopback. `bodyOf`: the body of the answer to a payload of this type. */
export async function startHookReceiver(bodyOf: (type: string) => string): Promise<HookReceiver> {
  const statuses = new Map<string, readonly number[]>()
  const counts = new Map<string, number>()

  function nextStatus(path: string): number {
    const [status = 200, ...others] = statuses.get(path) ?? []
    if (others.length > 0) statuses.set(path, others)
    return status
  }

  async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { type } = JSON.parse(await text(request)) as { readonly type: string }
    const { pathname } = new URL(request.url ?? '', 'http://localhost')
    counts.set(pathname, (counts.get(pathname) ?? 0) + 1)
    response.writeHead(nextStatus(pathname)).end(bodyOf(type))
  }

  const server = createServer((request, response) => void answer(request, response)).listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    answerWith: (path, next) => void statuses.set(path, next),
    received: (path) => counts.get(path) ?? 0,
    close: () => server.close().closeAllConnections(),
  }
}
