import { EventEmitter } from 'node:events'
import { createServer, type ServerResponse } from 'node:http'
import { createGracefulStop } from '../src/http-part.ts'

/** A server that answers 64 requests at a time. */
const { track } = createGracefulStop(createServer(), { withinMs: 0 })
const underWay: EventEmitter[] = []
for (let request = 0; request < 50_000; request += 1) {
  const response = Object.assign(new EventEmitter(), { headers: Array.from({ length: 100 }, () => request) })
  track(response as unknown as ServerResponse)
  underWay.push(response)
  if (underWay.length > 64) underWay.shift()?.emit('close')
  if (request === 1_000) globalThis.gc?.()
}
