import { type LoopbackServer, serveOnLoopback } from '@nextvisit/testing/black-box'

const FAILS = 0.1

/** Starts a receiver of webhooks that fails now and then, so that deliveries of a user wait for each other. */
export function startFlakyReceiver(): Promise<LoopbackServer> {
  return serveOnLoopback((request, response) => {
    request.resume()
    response.writeHead(Math.random() < FAILS ? 500 : 204).end()
  })
}
