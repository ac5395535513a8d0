import { onTestFinished } from 'vitest'
import { createInternalServer, type InternalServerOptions } from '../src/internal-server.ts'
import { createLogger } from '../src/logger.ts'

/**
 * Serves a registry on a service's internal port. Returns a function that scrapes it: the samples of metrics whose names begin
 * with `prefix`, by `name{labels}` without the label `service`.
 */
export async function givenScrape(metrics: InternalServerOptions['metrics']) {
  const server = createInternalServer({
    host: '127.0.0.1',
    port: 0,
    token: 'a token of some length',
    routes: [],
    isLive: () => ({ status: 'available' }),
    isReady: () => ({ status: 'available' }),
    metrics,
    logger: createLogger('spec', 'silent'),
  })
  const { port } = await server.start()
  onTestFinished(server.stop)
  return async (prefix: string): Promise<Record<string, number>> => {
    const text = await (await fetch(`http://127.0.0.1:${port}/metrics`)).text()
    const samples = text.split('\n').map((line) => line.replace(/,?service="[^"]*"/, '').replace('{}', ''))
    const asked = samples.filter((sample) => sample.startsWith(prefix)).map((sample) => sample.split(' '))
    return Object.fromEntries(asked.map(([sample = '', value]) => [sample, Number(value)]))
  }
}
