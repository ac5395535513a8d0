import type { ConnectionPool } from '@nextvisit/database'
import { Gauge, type Registry } from 'prom-client'

/** Gauges of a process's connections to Postgres, read at each scrape. Answers what to call with a pool once it exists. */
export function createPoolGauges(registry: Registry): (name: string, pool: ConnectionPool) => void {
  const pools = new Map<string, ConnectionPool>()
  const connections = new Gauge({
    name: 'nextvisit_database_connections',
    help: 'Connections to Postgres, by what they are for',
    labelNames: ['pool', 'state'],
    registers: [],
    collect() {
      for (const [pool, { totalCount, idleCount }] of pools) {
        this.set({ pool, state: 'busy' }, totalCount - idleCount)
        this.set({ pool, state: 'idle' }, idleCount)
      }
    },
  })
  const waiting = new Gauge({
    name: 'nextvisit_database_waiting_statements',
    help: 'Statements that wait because every connection of their pool is busy',
    labelNames: ['pool'],
    registers: [],
    collect() {
      for (const [pool, { waitingCount }] of pools) this.set({ pool }, waitingCount)
    },
  })
  for (const gauge of [connections, waiting]) registry.registerMetric(gauge)
  return (name, pool) => void pools.set(name, pool)
}
