import type { Server, ServerResponse } from 'node:http'
import { Server as NetServer } from 'node:net'
import type { Duplex } from 'node:stream'
import { Node, Yallist } from 'yallist'

export interface GracefulStopOptions {
  /** How long requests on kept connections that are on their way are still answered. Default 0. */
  readonly graceMs?: number
  /** After this every connection is closed, whatever is under way. */
  readonly withinMs: number
}

/**
 * Stops an HTTP server: takes no more connections, answers what is under way with `Connection: close`, and then closes all
 * connections, so that callers who are silent do not delay it. `track` must see every response before its headers are written.
 */
export function createGracefulStop(server: Server, { graceMs = 0, withinMs }: GracefulStopOptions) {
  // Not a Set, whose former tables would keep the responses of a busy server (docs/reference/performance.md, Memory).
  const underWay = new Yallist<ServerResponse>()
  let isStopping = false
  let isGraceOver = false
  const closeWhenDone = () => {
    if (isGraceOver && underWay.length === 0) server.closeAllConnections()
  }
  return {
    track: (response: ServerResponse): void => {
      if (isStopping) response.shouldKeepAlive = false
      const node = new Node(response)
      underWay.pushNode(node)
      response.once('close', () => {
        underWay.removeNode(node)
        closeWhenDone()
      })
    },
    /** What is under way for the request that came last on a connection. */
    underWayOn: (socket: Duplex): ServerResponse | undefined => {
      let node = underWay.tail
      while (node && node.value.req.socket !== socket) node = node.prev
      return node?.value
    },
    stop: () =>
      new Promise<void>((resolve) => {
        isStopping = true
        for (const response of underWay) response.shouldKeepAlive = false
        // The `close` of an HTTP server would also reset connections whose next request is on its way.
        NetServer.prototype.close.call(server, () => resolve())
        setTimeout(() => {
          isGraceOver = true
          closeWhenDone()
        }, graceMs)
        setTimeout(() => server.closeAllConnections(), withinMs).unref()
      }),
  }
}
