import { Gauge, type Registry } from 'prom-client'
import type { CatalogView } from './catalog-view.ts'

/** Registers the gauges of a process's view: its age, and the number of organizations that it does not understand in full. */
export function createCatalogMetrics(
  registry: Registry,
  view: Pick<CatalogView, 'problems' | 'currentAsOfMs'>,
  nowMs: () => number = () => performance.now(),
): void {
  const problems = new Gauge({
    name: 'nextvisit_catalog_problems',
    help: 'Organizations whose catalog record this process does not understand in full',
    registers: [],
    collect() {
      this.set(view.problems().length)
    },
  })
  const age = new Gauge({
    name: 'nextvisit_catalog_age_seconds',
    help: 'Time since the catalog was last known to be current; NaN before the first time',
    registers: [],
    collect() {
      const asOfMs = view.currentAsOfMs()
      this.set(asOfMs === 0 ? Number.NaN : (nowMs() - asOfMs) / 1_000)
    },
  })
  for (const gauge of [problems, age]) registry.registerMetric(gauge)
}
