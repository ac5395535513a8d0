import type { Server } from 'node:http'

const MAKE_ROOM_EVERY_MS = 1_000

/** Bounds a server's connections (decisions.md, Slow and large). One more is closed at once, and idle ones make room. */
export function boundConnections(server: Server, maxConnections: number): void {
  server.maxConnections = maxConnections
  let roomMadeAt = Number.NEGATIVE_INFINITY
  server.on('drop', () => {
    if (performance.now() - roomMadeAt < MAKE_ROOM_EVERY_MS) return
    roomMadeAt = performance.now()
    server.closeIdleConnections()
  })
}
