import type { Client } from '@nextvisit/database'
import { ReplayError } from './replay-error.ts'

/** "NVRP". Class of the advisory lock that allows one replay of a schema; the other half is a hash of the schema's name. */
const REPLAY_LOCK = 0x4e_56_52_50

/** Takes the lock of a schema's replay. The lock ends with the connection, however the process ends. */
export async function requireAlone(client: Client, schema: string): Promise<void> {
  const { rows } = await client.query<{ alone: boolean }>('SELECT pg_try_advisory_lock($1, hashtext($2)) AS alone', [
    REPLAY_LOCK,
    schema,
  ])
  if (rows[0]?.alone) return
  throw new ReplayError('REPLAY_RUNS', `Another replay of the schema ${schema} is running. Wait for it, or stop it.`)
}

/** Returns true while a replay of the schema runs, in any process. */
export async function isReplayRunning(client: Pick<Client, 'query'>, schema: string): Promise<boolean> {
  const { rows } = await client.query(
    `SELECT FROM pg_locks JOIN pg_database ON pg_database.oid = pg_locks.database
     WHERE locktype = 'advisory' AND datname = current_database() AND objsubid = 2
       AND classid = $1 AND objid = (hashtext($2)::int8 & 4294967295)::oid`,
    [REPLAY_LOCK, schema],
  )
  return rows.length > 0
}
