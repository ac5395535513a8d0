import { type CommitDb, type CommitDbOptions, type ConnectionPool, type Db, openCommitDb } from '@nextvisit/database'
import type { Registry } from 'prom-client'
import type { Consumer } from './define-consumer.ts'
import { createPoolGauges } from './watch/pool-gauges.ts'

/** After 2 s no caller waits for an answer any more (decisions.md, Track event). */
const ADMISSION_LIMITS = { maxConnections: 4, statementTimeoutMs: 2_000 }
/** There is one commit at a time. */
const FOLD_LIMITS = { maxConnections: 1, keepsPlansForMs: 5_000 }
const UPKEEP_LIMITS = { maxConnections: 4 }
const READ_LIMITS = { maxConnections: 3, statementTimeoutMs: 2_000 }

/** A consumer's connections to its schema. They are apart: slow reads delay no admission, and neither waits for folds. */
export interface Pools {
  readonly foldDb: CommitDb
  /** For what a running projection does beside its folds: ticks, the outbox, alarms. */
  readonly upkeepDb: CommitDb
  readonly admissionDb: Db
  readonly readDb: Db
}

export interface PoolsOptions {
  readonly databaseUrl: string
  /** Names the connections in `pg_stat_activity`. */
  readonly clientId: string
  readonly metrics: Registry
}

export async function openPools(consumer: Consumer, { databaseUrl, clientId, metrics }: PoolsOptions): Promise<Pools> {
  const gaugesOf = createPoolGauges(metrics)
  const optionsOf = (pool: string, limits: Partial<CommitDbOptions>) => ({
    url: databaseUrl,
    schema: consumer.schema,
    applicationName: `${clientId} ${pool}`,
    onPool: (opened: ConnectionPool) => gaugesOf(pool, opened),
    ...limits,
  })
  return {
    foldDb: openCommitDb(optionsOf('folds', FOLD_LIMITS)),
    upkeepDb: openCommitDb(optionsOf('upkeep', UPKEEP_LIMITS)),
    admissionDb: openCommitDb(optionsOf('admission', ADMISSION_LIMITS)),
    readDb: await consumer.openDb(optionsOf('reads', READ_LIMITS)),
  }
}
