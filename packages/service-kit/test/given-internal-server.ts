import { onTestFinished } from 'vitest'
import { createInternalServer, type InternalServerOptions } from '../src/internal-server.ts'
import { createLogger } from '../src/logger.ts'
import { createMetrics } from '../src/metrics.ts'

/** Starts the internal server of a healthy service on a free port, until the test ends. */
export async function givenInternalServer(own: Partial<InternalServerOptions> = {}) {
  const server = createInternalServer({
    host: '127.0.0.1',
    port: 0,
    token: 'a token of some length',
    routes: [],
    isLive: () => ({ status: 'available' }),
    isReady: () => ({ status: 'available' }),
    metrics: createMetrics('spec'),
    logger: createLogger('spec', 'silent'),
    ...own,
  })
  const { port } = await server.start()
  onTestFinished(server.stop)
  return { url: `http://127.0.0.1:${port}`, port, stop: server.stop }
}
