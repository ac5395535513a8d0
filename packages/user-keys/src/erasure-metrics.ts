import { Gauge, type Registry } from 'prom-client'
import type { ErasureView } from './erasure-view.ts'

/** Registers the gauges of a process's view of the erasures. */
export function createErasureMetrics(
  registry: Registry,
  view: Pick<ErasureView, 'currentAsOfMs' | 'skipped' | 'suppressedUsers'>,
  nowMs: () => number = () => performance.now(),
): void {
  const gauges = {
    nextvisit_erasures_age_seconds: {
      help: 'Time since the erasures were last known to be current; NaN before the first time',
      read: () => (view.currentAsOfMs() === 0 ? Number.NaN : (nowMs() - view.currentAsOfMs()) / 1_000),
    },
    nextvisit_erasures_skipped_records: {
      help: 'Records of erasures that this process cannot read',
      read: view.skipped,
    },
    nextvisit_suppressed_users: { help: 'Suppressed users of all projects', read: () => view.suppressedUsers() },
  }
  for (const [name, { help, read }] of Object.entries(gauges))
    registry.registerMetric(
      new Gauge({
        name,
        help,
        registers: [],
        collect() {
          this.set(read())
        },
      }),
    )
}
