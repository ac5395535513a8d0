import { createServer, type RequestListener } from 'node:http'
import { createHttpPart } from '@nextvisit/service-kit'

export interface HttpServerOptions {
  readonly host: string
  readonly port: number
  readonly listener: RequestListener
}

const CLOSE_WITHIN_MS = 3_000

/** Creates the server for browsers. */
export function createHttpServer({ host, port, listener }: HttpServerOptions) {
  const server = createServer({ headersTimeout: 5_000, requestTimeout: 10_000 }, listener)
  return createHttpPart(server, { host, port, portVariable: 'CONSOLE_PORT', withinMs: CLOSE_WITHIN_MS })
}
