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
   * Keeps the plan of a statement for so long, which saves most of what a short statement costs. Then it is made anew, for the
   * tables as they are by then: one that had a handful of rows may hold thousands (docs/performance.md, Kept plans). Left
   * out: a plan serves once.
   */
  readonly keepsPlansForMs?: number
  /** How much longer than a statement a commit may take. Default 2 s. */
  readonly commitGraceMs?: number
}

/** A plan for any values. A small table is looked up by its index, too: it may grow while the plan is kept. */
const PLAN_KEPT = { plan_cache_mode: 'force_generic_plan', enable_seqscan: 'off' }
/** A commit that takes longer is halved. It is also ended where a frozen process has sent only its beginning. */
const COMMIT_GRACE_MS = 2_000

/** Connections to a service's schema that also commit. */
export function openCommitDb(options: CommitDbOptions): CommitDb {
  const { keepsPlansForMs, commitGraceMs = COMMIT_GRACE_MS, statementTimeoutMs = STATEMENT_TIMEOUT_MS } = options
  const settings = {
    ...(keepsPlansForMs === undefined ? PLANNED_ANEW : PLAN_KEPT),
    transaction_timeout: statementTimeoutMs + commitGraceMs,
  }
  const pool = new Pool({ ...connectionConfigOf(options, settings), ...poolConfigOf(options), types: TYPES })
  const plannedAtMs = new WeakMap<PoolClient, number>()
  pool.on('connect', (client) => {
    plannedAtMs.set(client, performance.now())
    // Without a listener a connection that is cut between two statements would end the process; the next one fails anyway.
    client.on('error', () => {})
  })
  pool.on('error', (error) => options.onConnectionLost?.(error))
  options.onPool?.(pool)

  const dropOldPlans = async (client: PoolClient): Promise<void> => {
    if (keepsPlansForMs === undefined) return
    if (performance.now() - (plannedAtMs.get(client) ?? 0) <= keepsPlansForMs) return
    plannedAtMs.set(client, performance.now())
    await client.query('DISCARD PLANS')
  }

  const query = ({ text, values }: Statement) =>
    pool.connect().then(async (client) => {
      try {
        await dropOldPlans(client)
        return await client.query({ name: statementNameOf(text), text, values: [...values] })
      } finally {
        client.release()
      }
    })

  const executeAll = async (statements: readonly Statement[]): Promise<void> => {
    const client = await pool.connect()
    try {
      await dropOldPlans(client)
      await new Promise<void>((resolve, reject) => {
        client.query(new CommitPipeline(statements, (error) => (error ? reject(error) : resolve())))
      })
      client.release()
    } catch (error) {
      // It is not known which of the statements this connection has prepared.
      client.release(true)
      throw error
    }
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
