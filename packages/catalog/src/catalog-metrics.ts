import { Gauge, type Registry } from 'prom-client'
import type { CatalogView } from './catalog-view.ts'

/** Gauges of a process's view: how old it is, and how many organizations it does not understand in full. */
export function createCatalogMetrics(
  registry: Registry,
  view: Pick<CatalogView, 'problems' | 'currentAsOfMs'>,
  nowMs: () => number = Date.now,
): void {
  new Gauge({
    name: 'nextvisit_catalog_problems',
    help: 'Organizations whose catalog record this process does not understand in full',
    registers: [registry],
    collect() {
      this.set(view.problems().length)
    },
  })
  new Gauge({
    name: 'nextvisit_catalog_age_seconds',
    help: 'Time since the catalog was last known to be current; NaN before the first time',
    registers: [registry],
    collect() {
      const asOfMs = view.currentAsOfMs()
      this.set(asOfMs === 0 ? Number.NaN : (nowMs() - asOfMs) / 1_000)
    },
  })
}
