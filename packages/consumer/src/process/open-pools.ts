import { type CommitDb, type CommitDbOptions, type ConnectionPool, type Db, openCommitDb } from '@nextvisit/database'
import type { ServicePart } from '@nextvisit/service-kit'
import { Gauge, type Registry } from 'prom-client'
import type { Consumer } from './define-consumer.ts'

/** Callers give up after 2 s (decisions.md, Track event). */
const ADMISSION_LIMITS = { maxConnections: 4, statementTimeoutMs: 2_000 }
/** One commit at a time. */
const FOLD_LIMITS = { maxConnections: 1, keepsPlansForMs: 5_000 }
const UPKEEP_LIMITS = { maxConnections: 4 }
const READ_LIMITS = { maxConnections: 3, statementTimeoutMs: 2_000 }

/** Names of the pools in `pg_stat_activity`, in metrics and in the log. */
const POOL_NAMES = { foldDb: 'folds', upkeepDb: 'upkeep', admissionDb: 'admission', readDb: 'reads' } as const

/** A consumer's connections to its schema, in separate pools: slow reads delay no admission, and neither waits for folds. */
export interface Pools {
  readonly foldDb: CommitDb
  /** For everything except folds: ticks, the outbox, alarms. */
  readonly upkeepDb: CommitDb
  readonly admissionDb: Db
  readonly readDb: Db
}

/** Opens the pools. `clientId` names their connections in `pg_stat_activity`. */
export async function openPools(
  consumer: Consumer,
  {
    databaseUrl,
    clientId,
    metrics,
  }: { readonly databaseUrl: string; readonly clientId: string; readonly metrics: Registry },
): Promise<Pools> {
  const gaugesOf = createPoolGauges(metrics)
  const optionsOf = (pool: string, limits: Partial<CommitDbOptions>) => ({
    url: databaseUrl,
    schema: consumer.schema,
    applicationName: `${clientId} ${pool}`,
    onPool: (opened: ConnectionPool) => gaugesOf(pool, opened),
    ...limits,
  })
  return {
    foldDb: openCommitDb(optionsOf(POOL_NAMES.foldDb, FOLD_LIMITS)),
    upkeepDb: openCommitDb(optionsOf(POOL_NAMES.upkeepDb, UPKEEP_LIMITS)),
    admissionDb: openCommitDb(optionsOf(POOL_NAMES.admissionDb, ADMISSION_LIMITS)),
    readDb: await consumer.openDb(optionsOf(POOL_NAMES.readDb, READ_LIMITS)),
  }
}

/** Returns the pools as parts of a service, named as in {@link POOL_NAMES}. They connect at their first statement. */
export function poolParts(pools: Pools): readonly ServicePart[] {
  return (Object.keys(POOL_NAMES) as (keyof Pools)[]).map((name) => ({
    name: `database pool ${POOL_NAMES[name]}`,
    start: () => Promise.resolve(),
    stop: () => pools[name].$disconnect(),
  }))
}

/** Registers gauges of a process's connections to Postgres. Returns a function that adds a pool to them. */
function createPoolGauges(registry: Registry): (name: string, pool: ConnectionPool) => void {
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
