import type { AdapterOptions, Db } from '@nextvisit/database'
import type { Registry } from 'prom-client'
import type { Consumer } from './define-consumer.ts'
import { createPoolGauges } from './pool-gauges.ts'

/** After 2 s no caller waits for an answer any more (decisions.md, Track event). */
const ADMISSION_LIMITS = { maxConnections: 4, statementTimeoutMs: 2_000 }
/** There is one commit at a time. */
const LOAD_LIMITS = { maxConnections: 1, keepsPlans: true }
const READ_LIMITS = { maxConnections: 3, statementTimeoutMs: 2_000 }

/** A consumer's connections to its schema. They are apart: slow reads delay no admission, and neither waits for folds. */
export interface Pools {
  readonly foldDb: Db
  /** For the projection's `load`, where that is not a part of `foldDb`. */
  readonly loadDb?: Db
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
  const open = (pool: string, limits: Partial<AdapterOptions>, suffix = ` ${pool}`): Promise<Db> =>
    consumer.openDb({
      url: databaseUrl,
      schema: consumer.schema,
      applicationName: `${clientId}${suffix}`,
      onPool: (opened) => gaugesOf(pool, opened),
      ...limits,
    })
  return {
    foldDb: await open('folds', {}, ''),
    ...(consumer.looksUp && { loadDb: await open('loads', LOAD_LIMITS) }),
    admissionDb: await open('admission', ADMISSION_LIMITS),
    readDb: await open('reads', READ_LIMITS),
  }
}
