import type { InternalServerOptions } from '../src/internal-server.ts'
import { givenInternalServer } from './given-internal-server.ts'

/**
 * Serves a registry on a service's internal port. Returns a function that scrapes it: the samples of metrics whose names begin
 * with `prefix`, by `name{labels}` without the label `service`.
 */
export async function givenScrape(metrics: InternalServerOptions['metrics']) {
  const { url } = await givenInternalServer({ metrics })
  return async (prefix: string): Promise<Record<string, number>> => {
    const text = await (await fetch(`${url}/metrics`)).text()
    const samples = text.split('\n').map((line) => line.replace(/,?service="[^"]*"/, '').replace('{}', ''))
    const asked = samples.filter((sample) => sample.startsWith(prefix)).map((sample) => sample.split(' '))
    return Object.fromEntries(asked.map(([sample = '', value]) => [sample, Number(value)]))
  }
}
