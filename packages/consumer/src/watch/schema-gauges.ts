import { type Db, sql } from '@nextvisit/database'
import type { Logger } from '@nextvisit/log'
import type { Registry } from 'prom-client'
import { createReadGauges } from './read-gauges.ts'

interface SchemaGaugesOptions {
  readonly db: Db
  readonly projection: string
  readonly registry: Registry
  readonly logger: Logger
}

/**
 * Registers gauges of the dead letters and outbox rows in the service's schema: each of its processes reports the same. There
 * is no sample while Postgres is unavailable. `report` logs one line if there are dead letters, and never rejects.
 */
export function createSchemaGauges({ db, projection, registry, logger }: SchemaGaugesOptions) {
  const { read, register } = createReadGauges(registry, () => readWaiting(db, projection))
  register(
    {
      name: 'projection_dead_letters',
      help: 'Records that were not folded and wait for an operator (dead) or for their next attempt (retry)',
      labelNames: ['state'],
    },
    (gauge, { dead, retry }) => {
      gauge.set({ state: 'dead' }, dead)
      gauge.set({ state: 'retry' }, retry)
    },
  )
  register(
    { name: 'projection_outbox_records', help: 'Records that wait to be published', labelNames: [] },
    (gauge, { outboxRecords }) => gauge.set(outboxRecords),
  )
  register(
    {
      name: 'projection_outbox_seconds',
      help: 'Age of the oldest record that waits; 0 if there is none',
      labelNames: [],
    },
    (gauge, { outboxSeconds }) => gauge.set(outboxSeconds),
  )

  async function report(): Promise<void> {
    const deadLetters = (await read())?.dead ?? 0
    if (deadLetters > 0) logger.warn({ deadLetters }, WAITING)
  }
  return { report }
}

const WAITING = 'Records wait as dead letters; see nextvisit dead-letters list'

interface Waiting {
  readonly dead: number
  readonly retry: number
  readonly outboxRecords: number
  readonly outboxSeconds: number
}

async function readWaiting(db: Db, projection: string): Promise<Waiting | undefined> {
  const [waiting] = await db.$queryRaw<Waiting[]>(sql`
    SELECT letters.*, outbox.* FROM (
      SELECT count(*) FILTER (WHERE state = 'dead')::int AS dead, count(*) FILTER (WHERE state = 'retry')::int AS retry
      FROM dead_letters WHERE projection = ${projection} AND state IN ('dead', 'retry')
    ) AS letters, (
      SELECT count(*)::int AS "outboxRecords",
             coalesce(extract(epoch FROM now() - min(queued_at)), 0)::float8 AS "outboxSeconds"
      FROM outbox
    ) AS outbox`)
  return waiting
}
