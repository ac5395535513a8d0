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

/** Counts whole services: every process of one says the same. While Postgres is away there is no sample. */
export function createDeadLetterGauge({ db, projection, registry, logger }: DeadLetterGaugeOptions): DeadLetterGauge {
  const gauge = new Gauge({
    name: 'projection_dead_letters',
    help: 'Records that could not be parsed and wait for somebody (dead) or for their next try (retry)',
    labelNames: ['state'],
    registers: [],
    async collect() {
      this.reset()
      const counts = await countOpen(db, projection).catch(() => undefined)
      if (!counts) return
      for (const state of ['dead', 'retry'] as const) this.set({ state }, counts.get(state) ?? 0)
    },
  })
  registry.registerMetric(gauge)

  const tell: DeadLetterGauge['tell'] = async () => {
    const counts = await countOpen(db, projection).catch(() => undefined)
    const deadLetters = counts?.get('dead') ?? 0
    if (deadLetters > 0) logger.warn({ deadLetters }, TELL_WHERE_TO_LOOK)
  }
  return { tell }
}

const TELL_WHERE_TO_LOOK = 'Records that could not be parsed wait as dead letters; see nextvisit dead-letters list'

async function countOpen(db: Db, projection: string): Promise<ReadonlyMap<string, number>> {
  const rows = await db.$queryRaw<{ state: string; count: number }[]>(sql`
    SELECT state, count(*)::int AS count FROM dead_letters
    WHERE projection = ${projection} AND state IN ('dead', 'retry') GROUP BY state`)
  return new Map(rows.map(({ state, count }) => [state, count]))
}
