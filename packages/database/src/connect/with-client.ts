import { Client } from 'pg'
import { sqlStateOf } from './database-errors.ts'
import { plainIdentifier } from '../sql.ts'

export type { Client }

const LOCK_WAIT_MS = 60_000

/** Runs `work` on its own connection. For migrations and roles; services have pools. */
export async function withClient<Result>(url: string, work: (client: Client) => Promise<Result>): Promise<Result> {
  const client = new Client({ connectionString: url, keepAlive: true, connectionTimeoutMillis: 5_000 })
  // Without a listener a connection cut between two queries would end the process. The next query fails anyway.
  client.on('error', () => {})
  await client.connect()
  try {
    return await work(client)
  } finally {
    await client.end()
  }
}

/** Runs `work` while the connection holds an advisory lock in its database. The lock ends with the connection. */
export async function withLock<Result>(client: Client, lock: number, work: () => Promise<Result>): Promise<Result> {
  await client.query(`SET lock_timeout = ${LOCK_WAIT_MS}`)
  await client.query('SELECT pg_advisory_lock($1)', [lock])
  await client.query('SET lock_timeout = 0')
  try {
    return await work()
  } finally {
    await client.query('SELECT pg_advisory_unlock($1)', [lock]).catch(() => {})
  }
}

/** Creates the database in an address if it is missing. */
export async function ensureDatabase(url: string): Promise<void> {
  try {
    await withClient(url, async () => {})
  } catch (error) {
    if (sqlStateOf(error) !== '3D000') throw error
    await createDatabase(url)
  }
}

async function createDatabase(url: string): Promise<void> {
  const server = new URL(url)
  const name = plainIdentifier(decodeURIComponent(server.pathname.slice(1)))
  server.pathname = '/postgres'
  try {
    await withClient(server.href, (client) => client.query(`CREATE DATABASE ${name}`))
  } catch (error) {
    // Another process has created it meanwhile.
    if (!['42P04', '23505'].includes(sqlStateOf(error) ?? '')) throw error
  }
}
