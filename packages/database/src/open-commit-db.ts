import { type CustomTypesConfig, Pool, type PoolClient, types } from 'pg'
import { CommitPipeline } from './commit-pipeline.ts'
import {
  connectionConfigOf,
  type ConnectionOptions,
  PLANNED_ANEW,
  poolConfigOf,
  STATEMENT_TIMEOUT_MS,
  statementNameOf,
} from './connection-config.ts'
import type { CommitDb, Statement } from './sql.ts'

export interface CommitDbOptions extends ConnectionOptions {
  /**
   * Keeps the plan of a statement for so long, which saves most of what a short statement costs. Then, or once much was
   * written over its connection, it is made anew, for the tables as they are by then: one that had a handful of rows may hold
   * thousands (docs/reference/performance.md, Cached plans). Left out: a plan serves once.
   */
  readonly keepsPlansForMs?: number
}

/** Those that a connection has made since they were last dropped. */
interface Plans {
  /** A `performance.now()` instant. */
  readonly untilMs: number
  /** Characters of values that were committed with them. */
  written: number
}

/** A plan for any values. A small table is looked up by its index, too: it may grow while the plan is kept. */
const PLAN_KEPT = { plan_cache_mode: 'force_generic_plan', enable_seqscan: 'off' }
/** With so much written since, plans are made anew: a join of two thousand rows with a table that was empty takes seconds. */
const MAX_CHARACTERS_A_PLAN = 256 * 1024
/** How much longer than a statement a commit may take. One that takes longer is halved. It is also ended where a frozen process has sent only its beginning. */
const COMMIT_GRACE_MS = 1_000

/** Connections to a service's schema that also commit. */
export function openCommitDb(options: CommitDbOptions): CommitDb {
  const { keepsPlansForMs, statementTimeoutMs = STATEMENT_TIMEOUT_MS } = options
  const settings = {
    ...(keepsPlansForMs === undefined ? PLANNED_ANEW : PLAN_KEPT),
    transaction_timeout: statementTimeoutMs + COMMIT_GRACE_MS,
  }
  const pool = new Pool({ ...connectionConfigOf(options, settings), ...poolConfigOf(options), types: TYPES })
  /** Of each connection, where plans are kept. */
  const planned = new WeakMap<PoolClient, Plans>()
  const beginPlans = (client: PoolClient): void => {
    if (keepsPlansForMs === undefined) return
    planned.set(client, { untilMs: performance.now() + keepsPlansForMs, written: 0 })
  }
  pool.on('connect', (client) => {
    beginPlans(client)
    // Without a listener a connection that is cut between two statements would end the process; the next one fails anyway.
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
      // It may be going, what it has prepared may not fit its tables any more, or it is not known what it has prepared.
      client.release(true)
      throw error
    }
  }

  const query = ({ text, values }: Statement) =>
    use((client) => client.query({ name: statementNameOf(text), text, values: [...values] }))

  const executeAll = async (statements: readonly Statement[]): Promise<void> => {
    const pipeline = new CommitPipeline(statements)
    await use((client) => {
      const plans = planned.get(client)
      if (plans) plans.written += pipeline.countCharacters()
      client.query(pipeline)
      return pipeline.committed
    })
  }

  return {
    $queryRaw: async <Row>(statement: Statement) => (await query(statement)).rows as Row,
    $executeRaw: async (statement) => (await query(statement)).rowCount ?? 0,
    $disconnect: () => pool.end(),
    executeAll,
  }
}

/** Values as Prisma gives them: whole numbers of 64 bits as bigint, instants as Date, JSON parsed. */
const TYPES: CustomTypesConfig = {
  getTypeParser: (oid) => (oid === types.builtins.INT8 ? BigInt : types.getTypeParser(oid)) as never,
}
