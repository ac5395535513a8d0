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

/** Dead letters that wait for somebody: for Prometheus at each scrape, and for whoever reads the log at the start. */
export interface DeadLetterGauge {
  /** One line in the log if there are any. Never rejects. */
  readonly tell: () => Promise<void>
}

/** A scrape must not wait for a Postgres that is frozen. */
const COUNT_WITHIN_MS = 1_000

/** Counts whole services: every process of one says the same. While Postgres is away there is no sample. */
export function createDeadLetterGauge({ db, projection, registry, logger }: DeadLetterGaugeOptions): DeadLetterGauge {
  let underWay: Promise<Counts | undefined> | undefined
  /** One at a time, however many scrapes give up on it. */
  const count = (): Promise<Counts | undefined> => {
    underWay ??= countOpen(db, projection)
      .catch(() => undefined)
      .finally(() => (underWay = undefined))
    return underWay
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

  const tell: DeadLetterGauge['tell'] = async () => {
    const counts = await count()
    const deadLetters = counts?.get('dead') ?? 0
    if (deadLetters > 0) logger.warn({ deadLetters }, TELL_WHERE_TO_LOOK)
  }
  return { tell }
}

const TELL_WHERE_TO_LOOK = 'Records that could not be parsed wait as dead letters; see nextvisit dead-letters list'

/** By state. */
type Counts = ReadonlyMap<string, number>

async function countOpen(db: Db, projection: string): Promise<Counts> {
  const rows = await db.$queryRaw<{ state: string; count: number }[]>(sql`
    SELECT state, count(*)::int AS count FROM dead_letters
    WHERE projection = ${projection} AND state IN ('dead', 'retry') GROUP BY state`)
  return new Map(rows.map(({ state, count }) => [state, count]))
}
