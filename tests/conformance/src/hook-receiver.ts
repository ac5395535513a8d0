import type { IncomingMessage, ServerResponse } from 'node:http'
import { text } from 'node:stream/consumers'
import { serveOnLoopback } from '@nextvisit/testing/black-box'

/** A receiver of webhooks on this machine. */
export interface HookReceiver {
  readonly url: string
  /** Sets the statuses of the next answers on a path, in turn. The last one stays. Default: 200. */
  readonly answerWith: (path: string, statuses: readonly [number, ...number[]]) => void
  /** Returns the number of requests on a path. */
  readonly received: (path: string) => number
  readonly stop: () => Promise<void>
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

  const { url, stop } = await serveOnLoopback((request, response) => void answer(request, response))
  return {
    url,
    answerWith: (path, next) => void statuses.set(path, next),
    received: (path) => counts.get(path) ?? 0,
    stop,
  }
}
