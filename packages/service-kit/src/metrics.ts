import { collectDefaultMetrics, Registry } from 'prom-client'

/** A service's Prometheus registry, with the process's own metrics in it. */
export function createMetrics(service: string): Registry {
  const registry = new Registry()
  registry.setDefaultLabels({ service })
  collectDefaultMetrics({ register: registry })
  return registry
}
