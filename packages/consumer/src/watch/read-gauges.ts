import { setTimeout as sleep } from 'node:timers/promises'
import { Gauge, type Registry } from 'prom-client'

/** A scrape must not wait for a frozen Postgres. */
const READ_WITHIN_MS = 1_000

interface GaugeSettings<Label extends string> {
  readonly name: string
  readonly help: string
  readonly labelNames: Label[]
}

/**
 * Creates gauges that share one reading of Postgres. They have no sample while it is unavailable. `readNow` runs once at a time,
 * however many scrapes give up waiting.
 */
export function createReadGauges<Reading>(registry: Registry, readNow: () => Promise<Reading | undefined>) {
  let inFlight: Promise<Reading | undefined> | undefined

  /** Never rejects. */
  function read(): Promise<Reading | undefined> {
    inFlight ??= readNow()
      .catch(() => undefined)
      .finally(() => (inFlight = undefined))
    return inFlight
  }

  function register<Label extends string>(
    metric: GaugeSettings<Label>,
    set: (gauge: Gauge<Label>, reading: Reading) => void,
  ): void {
    const gauge = new Gauge({
      ...metric,
      registers: [],
      async collect() {
        const reading = await Promise.race([read(), sleep(READ_WITHIN_MS, undefined, { ref: false })])
        this.reset()
        if (reading) set(this, reading)
        else if (metric.labelNames.length === 0) this.remove() // otherwise it reports 0
      },
    })
    registry.registerMetric(gauge)
  }

  return { read, register }
}
