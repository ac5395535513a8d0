import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'

export interface FlakyReceiver {
  readonly url: string
  readonly stop: () => Promise<void>
}

const FAILS = 0.1

/** Starts a receiver of webhooks that fails now and then, so that deliveries of a user wait for each other. */
export async function startFlakyReceiver(): Promise<FlakyReceiver> {
  const server = createServer((request, response) => {
    request.resume()
    response.writeHead(Math.random() < FAILS ? 500 : 204).end()
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  return {
    url: `http://127.0.0.1:${port}/`,
    stop: () =>
      new Promise<void>((resolve) => {
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  }
}
