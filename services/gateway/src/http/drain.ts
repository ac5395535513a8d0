import type { IncomingMessage } from 'node:http'

const MAX_DRAINED_BYTES = 1_048_576
const MAX_DRAIN_MS = 1_000

/**
 * Reads away what is left of a request that was answered early, so that its caller gets to read the answer: a socket
 * closed on unread bytes is reset. Bounded: who goes on sending loses the connection.
 */
export function drain(request: IncomingMessage): void {
  if (request.complete || request.destroyed) return
  let drained = 0
  const timer = setTimeout(() => request.destroy(), MAX_DRAIN_MS)
  request.on('data', (chunk: Buffer) => {
    drained += chunk.length
    if (drained > MAX_DRAINED_BYTES) request.destroy()
  })
  request.once('close', () => clearTimeout(timer)).once('end', () => clearTimeout(timer))
  request.resume()
}
