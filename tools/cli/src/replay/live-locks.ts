import { setTimeout as sleep } from 'node:timers/promises'
import { type Client, isConnectionFailure, isTransientError } from '@nextvisit/database'
import { ReplayError } from './replay-error.ts'

/**
 * Timeout of the first attempts. They are short and followed by longer pauses, because live folds queue behind a
 * waiting lock.
 */
const SHORT_WAIT_MS = 50
const SHORT_ATTEMPTS = 8
/**
 * Timeout of later attempts, below Postgres' deadlock_timeout: if a replay and a service wait for each other, the replay
 * gives up and retries.
 */
const LONG_WAIT_MS = 500
const ATTEMPTS = 50
/** Factor of a pause to the wait before it; jitter adds up to one more. */
const PAUSE = 2
/** Timeouts that end a hanging replay, which must not keep the locks. */
const WORK_LIMITS = "SET LOCAL idle_in_transaction_session_timeout = '15s'; SET LOCAL statement_timeout = '30s'"

interface LiveLocks {
  /** Schema of the locked tables. */
  readonly schema: string
  /** `LOCK TABLE` statements. */
  readonly locks: readonly string[]
  readonly attempts?: number
}

/** Runs `work` in a transaction that holds these locks. Retries with growing timeouts, then throws LIVE_IS_BUSY. */
export async function withLocks<Result>(
  client: Client,
  locks: LiveLocks,
  work: () => Promise<Result>,
): Promise<Result> {
  await beginWithLocks(client, locks)
  try {
    const result = await work()
    await client.query('COMMIT')
    return result
  } catch (error) {
    await client.query('ROLLBACK').catch(() => {})
    throw error
  }
}

async function beginWithLocks(client: Client, { schema, locks, attempts = ATTEMPTS }: LiveLocks): Promise<void> {
  for (let attempt = 1; attempt <= attempts; attempt++) {
    const waitMs = attempt <= SHORT_ATTEMPTS ? SHORT_WAIT_MS : LONG_WAIT_MS
    try {
      await client.query(`BEGIN; SET LOCAL lock_timeout = ${waitMs}`)
      for (const lock of locks) await client.query(lock)
      await client.query(`SET LOCAL lock_timeout = 0; ${WORK_LIMITS}`)
      return
    } catch (error) {
      await client.query('ROLLBACK').catch(() => {})
      if (!isTransientError(error) || isConnectionFailure(error)) throw error
      await sleep(waitMs * (PAUSE + Math.random()))
    }
  }
  throw new ReplayError(
    'LIVE_IS_BUSY',
    `The live tables were always in use${await readHolders(client, schema)}. Nothing was swapped. Run it again when they are free: it resumes.`,
  )
}

/** Describes the oldest open transactions that use these tables. */
async function readHolders(client: Client, schema: string): Promise<string> {
  const { rows } = await client.query<{ holder: string }>(
    `SELECT format('%s (process %s, since %s)', coalesce(nullif(application_name, ''), usename), pid, xact_start) AS holder
     FROM pg_stat_activity WHERE pid <> pg_backend_pid() AND pid IN (
       SELECT pg_locks.pid FROM pg_locks JOIN pg_class ON pg_class.oid = relation
       WHERE granted AND relnamespace = $1::regnamespace AND relkind IN ('r', 'p')
         AND database = (SELECT oid FROM pg_database WHERE datname = current_database()))
     ORDER BY xact_start LIMIT 3`,
    [schema],
  )
  return rows.length === 0 ? '' : `, last by ${rows.map(({ holder }) => holder).join(', ')}`
}
