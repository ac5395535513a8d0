import { setTimeout as sleep } from 'node:timers/promises'
import { type Db, sql } from '@nextvisit/database'
import type { Logger } from '@nextvisit/log'
import { Gauge, type Registry } from 'prom-client'

export interface DeadLetterGaugeOptions {
  readonly db: Db
  readonly projection: string
  readonly registry: Registry
  readonly logger: Logger
}

/** Dead letters that wait for an operator: a metric at each scrape, and a line in the log at the start. */
export interface DeadLetterGauge {
  /** Writes one line to the log if there are any. Never rejects. */
  readonly report: () => Promise<void>
}

/** A scrape must not wait for a frozen Postgres. */
const COUNT_WITHIN_MS = 1_000

/** Counts whole services: each process of a service reports the same. While Postgres is unavailable there is no sample. */
export function createDeadLetterGauge({ db, projection, registry, logger }: DeadLetterGaugeOptions): DeadLetterGauge {
  let inFlight: Promise<Counts | undefined> | undefined
  /** One query at a time, however many scrapes stop waiting for it. */
  const count = (): Promise<Counts | undefined> => {
    inFlight ??= countOpen(db, projection)
      .catch(() => undefined)
      .finally(() => (inFlight = undefined))
    return inFlight
  }

  const gauge = new Gauge({
    name: 'projection_dead_letters',
    help: 'Records that could not be parsed and wait for somebody (dead) or for their next try (retry)',
    labelNames: ['state'],
    registers: [],
    async collect() {
      this.reset()
      const counts = await Promise.race([count(), sleep(COUNT_WITHIN_MS, undefined, { ref: false })])
      if (!counts) return
      for (const state of ['dead', 'retry'] as const) this.set({ state }, counts.get(state) ?? 0)
    },
  })
  registry.registerMetric(gauge)

  const report: DeadLetterGauge['report'] = async () => {
    const counts = await count()
    const deadLetters = counts?.get('dead') ?? 0
    if (deadLetters > 0) logger.warn({ deadLetters }, WAITING)
  }
  return { report }
}

const WAITING = 'Records that could not be parsed wait as dead letters; see nextvisit dead-letters list'

/** By state. */
type Counts = ReadonlyMap<string, number>

async function countOpen(db: Db, projection: string): Promise<Counts> {
  const rows = await db.$queryRaw<{ state: string; count: number }[]>(sql`
    SELECT state, count(*)::int AS count FROM dead_letters
    WHERE projection = ${projection} AND state IN ('dead', 'retry') GROUP BY state`)
  return new Map(rows.map(({ state, count }) => [state, count]))
}
