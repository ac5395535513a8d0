import type { IncomingMessage, ServerResponse } from 'node:http'
import { text } from 'node:stream/consumers'
import { serveOnLoopback } from '@nextvisit/testing/black-box'
import { Webhook } from 'standardwebhooks'

/** A request whose signature the library has verified. */
export interface Received {
  readonly id: string
  readonly type: string
  readonly timestamp: string
  readonly data: Readonly<Record<string, unknown>>
  readonly body: string
  /** True if the receiver answered 204. */
  readonly isAccepted: boolean
}

/** Ends a request. Returns true if the sender may count it as delivered. */
export type Reaction = (request: IncomingMessage, response: ServerResponse) => boolean

export const accept: Reaction = (_request, response) => {
  response.writeHead(204).end()
  return true
}

const SLOW_MS = 500

/** A tenth of the requests each get a 500, a reset, a 429 that names a time, and a late answer. */
export function failingAtRandom(random: () => number): Reaction {
  return (request, response) => {
    const at = random()
    if (at < 0.1) response.writeHead(500).end('Out of order')
    else if (at < 0.2) request.socket.destroy()
    else if (at < 0.3) response.writeHead(429, { 'retry-after': '1' }).end()
    else if (at > 0.4) return accept(request, response)
    else {
      setTimeout(() => accept(request, response), SLOW_MS)
      return true
    }
    return false
  }
}

/** This number of requests never get an answer, the others at once. */
export function hangingFor(count: number): Reaction {
  let left = count
  return (request, response) => {
    left -= 1
    return left < 0 && accept(request, response)
  }
}

export type WebhookReceiver = Awaited<ReturnType<typeof startWebhookReceiver>>

/** Starts a receiver of webhooks on this machine. It verifies each request with the library of the standard. */
export async function startWebhookReceiver(secret: string) {
  const library = new Webhook(secret)
  const received: Received[] = []
  const unverified: string[] = []
  let react = accept

  async function receive(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const body = await text(request)
    const headers = Object.fromEntries(Object.entries(request.headers).map(([name, value]) => [name, String(value)]))
    try {
      library.verify(body, headers)
    } catch (error) {
      unverified.push(String(error))
    }
    const isAccepted = react(request, response)
    const parsed = JSON.parse(body) as Pick<Received, 'type' | 'timestamp' | 'data'>
    received.push({ ...parsed, id: String(headers['webhook-id']), body, isAccepted })
  }

  const { url, stop } = await serveOnLoopback((request, response) => void receive(request, response))
  return {
    url: `${url}/hooks`,
    received: () => received,
    /** The ids of accepted requests of a user, each once, in the order of the first one. */
    accepted: (userId: unknown) => [
      ...new Set(
        received.filter(({ isAccepted, data }) => isAccepted && data['userId'] === userId).map(({ id }) => id),
      ),
    ],
    /** What the library said of requests that it did not verify. */
    unverified: () => unverified,
    reactWith: (reaction: Reaction) => void (react = reaction),
    stop,
  }
}
