import { createHash } from 'node:crypto'
import net from 'node:net'
import type { ClientConfig, PoolConfig } from 'pg'
import { SilentConnectionError } from '../errors.ts'
import { plainIdentifier } from '../sql.ts'

export interface ConnectionOptions {
  /** `postgresql://role:password@host:port/database`, with TLS as `sslmode` says. */
  readonly url: string
  readonly schema: string
  /** The connections' name in `pg_stat_activity`. */
  readonly applicationName: string
  /** Maximum duration of a statement in ms. Default: 10,000. */
  readonly statementTimeoutMs?: number
  /** Time in ms without a byte from Postgres after which a busy connection is closed. Default: 13,000. */
  readonly silentConnectionMs?: number
  /** Maximum number of connections. The sum over all processes must stay below the server's `max_connections`. */
  readonly maxConnections?: number
  /** Called when an idle connection is lost. No query failed: the next one opens another connection. */
  readonly onConnectionLost?: (error: Error) => void
  /** Called with the pool once it exists. Metrics read its counts, which are live. */
  readonly onPool?: (pool: ConnectionPool) => void
}

/** The counts of a pool's connections, and of the statements that wait for one. */
export interface ConnectionPool {
  readonly totalCount: number
  readonly idleCount: number
  readonly waitingCount: number
}

export const STATEMENT_TIMEOUT_MS = 10_000
const LOCK_TIMEOUT_MS = 2_000
const IDLE_IN_TRANSACTION_TIMEOUT_MS = 10_000
/** Maximum time to connect, or to wait for a free connection of the pool. */
const CONNECT_TIMEOUT_MS = 5_000
/** Cost for SSDs. The default (4) suits spinning disks and causes needless table scans. */
const RANDOM_PAGE_COST = 1.1
const MAX_CONNECTIONS = 5
/** Below the silence limit, so that an idle connection is closed regularly. */
const IDLE_TIMEOUT_MS = 10_000
export const SILENT_CONNECTION_MS = 13_000

/**
 * Plans a statement each time it runs. From the sixth run on, Postgres may cache a plan until the next statistics, and a
 * plan for an almost empty table scans it, however large it is by then. Functions that run very often cache theirs
 * (performance.md, Cached plans).
 */
export const NO_CACHED_PLANS = { plan_cache_mode: 'force_custom_plan' }

export function poolConfigOf({ maxConnections, silentConnectionMs }: ConnectionOptions): PoolConfig {
  return {
    max: maxConnections ?? MAX_CONNECTIONS,
    idleTimeoutMillis: Math.min(IDLE_TIMEOUT_MS, (silentConnectionMs ?? SILENT_CONNECTION_MS) / 2),
  }
}

/**
 * Returns the configuration of a service's connection to its schema, with all of Postgres' limits: every server default is
 * "unlimited". `settings`: more settings of the connection.
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

/** Returns a statement's name, by which a connection prepares it once. The number of texts is fixed: values are separate. */
export function statementNameOf(text: string): string {
  const name = names.get(text) ?? createHash('sha1').update(text).digest('base64url')
  names.set(text, name)
  return name
}

/**
 * Sets the schema for raw SQL, since Prisma's `schema` option covers its ORM only; and UTC, since adapter-pg sends and reads
 * instants without a zone.
 */
function sessionOf({ url, schema }: ConnectionOptions, settings: Readonly<Record<string, string | number>>) {
  const target = new URL(url)
  // pg prefers the options in the address, so ours are joined with them. Of duplicates the last one counts.
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
 * Creates a socket that closes after a silence. A frozen server or a network that drops packets sends nothing, and TCP would
 * wait a quarter of an hour. Postgres' own timeouts are shorter than the silence.
 */
function createSocket(silentMs: number): net.Socket {
  const socket = new net.Socket()
  return socket.setTimeout(silentMs, () => socket.destroy(new SilentConnectionError(silentMs)))
}
