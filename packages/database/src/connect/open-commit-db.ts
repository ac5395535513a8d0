import { type CustomTypesConfig, Pool, type PoolClient, types } from 'pg'
import { CommitPipeline } from './commit-pipeline.ts'
import {
  connectionConfigOf,
  type ConnectionOptions,
  NO_CACHED_PLANS,
  poolConfigOf,
  STATEMENT_TIMEOUT_MS,
  statementNameOf,
} from './connection-config.ts'
import type { CommitDb, Sql } from '../sql.ts'

export interface CommitDbOptions extends ConnectionOptions {
  /**
   * Time in ms for which a connection caches plans, which saves most of the cost of a short statement. After it, or after
   * many writes over the connection, plans are made again, because tables may have grown
   * (performance.md, Cached plans). Absent: plans are not cached.
   */
  readonly keepsPlansForMs?: number
}

/** The plans that a connection has cached since they were last dropped. */
interface Plans {
  /** Instant of `performance.now()`. */
  readonly untilMs: number
  /** Characters of values committed since. */
  written: number
}

/** Caches one plan for any values. Small tables are looked up by index, too: they may grow while the plan is cached. */
const PLAN_KEPT = { plan_cache_mode: 'force_generic_plan', enable_seqscan: 'off' }
/** Characters written after which plans are dropped. With a plan for an empty table, a join of 2,000 rows takes seconds. */
const MAX_CHARACTERS_A_PLAN = 256 * 1024
/**
 * Time by which a commit may exceed the statement timeout, in ms. A longer commit is halved. The timeout also ends a
 * transaction of which a frozen process has sent only the beginning.
 */
const COMMIT_GRACE_MS = 1_000

/** Opens connections to a service's schema that can also commit. */
export function openCommitDb(options: CommitDbOptions): CommitDb {
  const { keepsPlansForMs, statementTimeoutMs = STATEMENT_TIMEOUT_MS } = options
  const settings = {
    ...(keepsPlansForMs === undefined ? NO_CACHED_PLANS : PLAN_KEPT),
    transaction_timeout: statementTimeoutMs + COMMIT_GRACE_MS,
  }
  const pool = new Pool({ ...connectionConfigOf(options, settings), ...poolConfigOf(options), types: TYPES })
  /** Cached plans by connection. */
  const planned = new WeakMap<PoolClient, Plans>()
  const beginPlans = (client: PoolClient): void => {
    if (keepsPlansForMs === undefined) return
    planned.set(client, { untilMs: performance.now() + keepsPlansForMs, written: 0 })
  }
  pool.on('connect', (client) => {
    beginPlans(client)
    // Without a listener a connection cut between two statements would end the process. The next statement fails anyway.
    client.on('error', () => {})
  })
  pool.on('error', (error) => options.onConnectionLost?.(error))
  options.onPool?.(pool)

  const dropOldPlans = async (client: PoolClient): Promise<void> => {
    const plans = planned.get(client)
    if (!plans || (performance.now() <= plans.untilMs && plans.written <= MAX_CHARACTERS_A_PLAN)) return
    await client.query('DISCARD PLANS')
    beginPlans(client)
  }

  const use = async <T>(work: (client: PoolClient) => Promise<T>): Promise<T> => {
    const client = await pool.connect()
    try {
      await dropOldPlans(client)
      const result = await work(client)
      client.release()
      return result
    } catch (error) {
      // The connection may be closing, or its prepared statements may be outdated or unknown.
      client.release(true)
      throw error
    }
  }

  const query = ({ text, values }: Sql) =>
    use((client) => client.query({ name: statementNameOf(text), text, values: [...values] }))

  const executeAll = async (statements: readonly Sql[]): Promise<void> => {
    const pipeline = new CommitPipeline(statements)
    await use((client) => {
      const plans = planned.get(client)
      if (plans) plans.written += pipeline.countCharacters()
      client.query(pipeline)
      return pipeline.committed
    })
  }

  return {
    $queryRaw: async <Row>(statement: Sql) => (await query(statement)).rows as Row,
    $executeRaw: async (statement) => (await query(statement)).rowCount ?? 0,
    $disconnect: () => pool.end(),
    executeAll,
  }
}

/** Parses values as Prisma does: 64-bit integers as bigint, instants as Date, JSON parsed. */
const TYPES: CustomTypesConfig = {
  getTypeParser: (oid) => (oid === types.builtins.INT8 ? BigInt : types.getTypeParser(oid)) as never,
}
