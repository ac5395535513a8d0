import { createHash } from 'node:crypto'
import net from 'node:net'
import type { ClientConfig, PoolConfig } from 'pg'
import { SilentConnectionError } from './errors.ts'
import { plainIdentifier } from './plain-identifier.ts'

export interface ConnectionOptions {
  /** `postgresql://role:password@host:port/database`; `sslmode` says whether and how TLS is used. */
  readonly url: string
  readonly schema: string
  /** Names the connections in `pg_stat_activity`. */
  readonly applicationName: string
  /** How long a statement may run. Default 10 s. */
  readonly statementTimeoutMs?: number
  /** How long Postgres may say nothing during a statement or a commit before the connection is given up. */
  readonly silentConnectionMs?: number
  /** Of this process. The sum over all processes stays under the server's `max_connections`. */
  readonly maxConnections?: number
  /** An idle connection was lost. Nothing failed: the next query opens another. */
  readonly onConnectionLost?: (error: Error) => void
  /** Called when the connections' pool exists. Its counts change by themselves: for metrics. */
  readonly onPool?: (pool: ConnectionPool) => void
}

/** A pool's connections, and the statements that wait for one. */
export interface ConnectionPool {
  readonly totalCount: number
  readonly idleCount: number
  readonly waitingCount: number
}

export const STATEMENT_TIMEOUT_MS = 10_000
const LOCK_TIMEOUT_MS = 2_000
const IDLE_IN_TRANSACTION_TIMEOUT_MS = 10_000
/** Also for a connection of the pool to be free. */
const CONNECT_TIMEOUT_MS = 5_000
/** Of an SSD. As delivered (4, of a disk that turns), Postgres reads tables of some hundred rows where it would look up one. */
const RANDOM_PAGE_COST = 1.1
const MAX_CONNECTIONS = 5
/** Below the silence limit, so that a connection without work is closed in peace. */
const IDLE_TIMEOUT_MS = 10_000
export const SILENT_CONNECTION_MS = 13_000

/**
 * A statement is planned each time it runs, for the tables as they are then. From its sixth run on, Postgres could keep a
 * plan until the next statistics: one from when a table held a handful of rows reads it as a whole, whatever it holds by
 * then. Functions that run very often keep theirs (docs/reference/performance.md, Cached plans).
 */
export const PLANNED_ANEW = { plan_cache_mode: 'force_custom_plan' }

export function poolConfigOf({ maxConnections, silentConnectionMs }: ConnectionOptions): PoolConfig {
  return {
    max: maxConnections ?? MAX_CONNECTIONS,
    idleTimeoutMillis: Math.min(IDLE_TIMEOUT_MS, (silentConnectionMs ?? SILENT_CONNECTION_MS) / 2),
  }
}

/**
 * A service's connection to its schema. All settings of Postgres that matter to services are here: every server
 * default is "without limit". `settings`: of the connection, beside them.
 */
export function connectionConfigOf(
  options: ConnectionOptions,
  settings: Readonly<Record<string, string | number>>,
): ClientConfig {
  const { silentConnectionMs = SILENT_CONNECTION_MS } = options
  return {
    ...sessionOf(options, settings),
    application_name: options.applicationName,
    connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
    keepAlive: true,
    keepAliveInitialDelayMillis: 10_000,
    statement_timeout: options.statementTimeoutMs ?? STATEMENT_TIMEOUT_MS,
    lock_timeout: LOCK_TIMEOUT_MS,
    idle_in_transaction_session_timeout: IDLE_IN_TRANSACTION_TIMEOUT_MS,
    stream: () => createSocket(silentConnectionMs),
  }
}

const names = new Map<string, string>()

/** With a name a connection prepares a statement once. There are as many texts as the code has; values stand apart. */
export function statementNameOf(text: string): string {
  const name = names.get(text) ?? createHash('sha1').update(text).digest('base64url')
  names.set(text, name)
  return name
}

/**
 * The schema for raw SQL (Prisma's `schema` option covers the ORM only), and UTC: adapter-pg sends and reads every
 * instant without its zone, so any other session time zone would shift them.
 */
function sessionOf({ url, schema }: ConnectionOptions, settings: Readonly<Record<string, string | number>>) {
  const target = new URL(url)
  // pg lets what the address says win, so its options have to be joined with ours. Of two the later one counts.
  const given = target.searchParams.get('options')
  target.searchParams.delete('options')
  target.searchParams.delete('schema')
  const own = Object.entries({ random_page_cost: RANDOM_PAGE_COST, ...settings }).map(toOption)
  const required = Object.entries({ search_path: plainIdentifier(schema), TimeZone: 'UTC' }).map(toOption)
  return { connectionString: target.href, options: [...own, given, ...required].join(' ') }
}

function toOption([name, value]: readonly [string, string | number]): string {
  return `-c ${name}=${value}`
}

/**
 * A server that froze or a network that swallows packets answers nothing at all, not even a timeout; TCP would wait a
 * quarter of an hour. Postgres' own timeouts are shorter than this silence, so whoever is silent longer is gone.
 */
function createSocket(silentMs: number): net.Socket {
  const socket = new net.Socket()
  return socket.setTimeout(silentMs, () => socket.destroy(new SilentConnectionError(silentMs)))
}
