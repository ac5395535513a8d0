import { once } from 'node:events'
import { createServer, type RequestListener } from 'node:http'
import type { AddressInfo } from 'node:net'

export interface LoopbackServer {
  /** Without a path. */
  readonly url: string
  /** Also closes the open connections. */
  readonly stop: () => Promise<void>
}

/** Serves HTTP on a free port of this machine, as a server of a customer does. */
export async function serveOnLoopback(onRequest: RequestListener): Promise<LoopbackServer> {
  const server = createServer(onRequest).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  return {
    url: `http://127.0.0.1:${port}`,
    stop: async () => {
      const closed = once(server, 'close')
      server.close().closeAllConnections()
      await closed
    },
  }
}
