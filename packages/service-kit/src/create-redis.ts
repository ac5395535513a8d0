import { Redis } from 'ioredis'
import type { Logger } from 'pino'

export interface RedisConnectionOptions {
  readonly url: string
  /** Names the connection in Redis' client list and in the log. */
  readonly name: string
  readonly logger: Logger
  /** After this time a command fails. It may still be executed: nothing may rely on exact values in Redis. */
  readonly commandTimeoutMs?: number
}

export interface RedisConnection {
  readonly client: Redis
  /** Waits a moment for Redis, but succeeds without it: Redis is optional. */
  readonly start: () => Promise<void>
  readonly stop: () => Promise<void>
}

const COMMAND_TIMEOUT_MS = 100
const CONNECT_TIMEOUT_MS = 500
const MAX_RECONNECT_DELAY_MS = 1_000
const PING_EVERY_MS = 1_000
/** How long Redis may be silent after a command (at least the ping) before the connection is replaced. */
const SILENT_MS = 1_500

/**
 * For commands. While Redis is unavailable they fail at once, and on a frozen Redis after `commandTimeoutMs`. ioredis'
 * defaults would queue them without limit and wait for ever.
 */
export function createRedis(options: RedisConnectionOptions): RedisConnection {
  return createConnection(options, COMMAND_TIMEOUT_MS)
}

/**
 * For subscriptions, which `subscribeTo` makes after each connect. Messages published during an outage are lost: while
 * `client.status` is not `ready`, nothing is received.
 */
export function createRedisSubscriber(options: RedisConnectionOptions): RedisConnection {
  return createConnection(options, SILENT_MS)
}

function createConnection(
  { url, name, logger, commandTimeoutMs }: RedisConnectionOptions,
  defaultTimeoutMs: number,
): RedisConnection {
  const client = new Redis(url, {
    lazyConnect: true,
    connectionName: name,
    enableOfflineQueue: false,
    maxRetriesPerRequest: 0,
    // ioredis leaves the rejection of its own subscribe unhandled, which would end the process.
    autoResubscribe: false,
    commandTimeout: commandTimeoutMs ?? defaultTimeoutMs,
    connectTimeout: CONNECT_TIMEOUT_MS,
    socketTimeout: SILENT_MS,
    keepAlive: 10_000,
    retryStrategy: (attempt) => Math.min(50 * 2 ** Math.min(attempt, 10), MAX_RECONNECT_DELAY_MS),
    // After a failover the old primary is a replica and takes no writes. A new connection finds the new primary.
    reconnectOnError: (error) => error.message.startsWith('READONLY'),
  })
  let isWanted = false
  let isUnavailable = false
  let pings: NodeJS.Timeout | undefined

  /** One line when Redis goes and one when it returns: an outage causes many errors a second. */
  function onUnavailable(err?: Error): void {
    if (isWanted && !isUnavailable)
      logger.warn({ connection: name, ...(err && { err }) }, 'Redis is unavailable; continuing without it')
    isUnavailable = isWanted
  }
  function onReady(): void {
    if (isUnavailable) logger.info({ connection: name }, 'Redis is back')
    isUnavailable = false
  }
  client.on('error', onUnavailable).on('close', onUnavailable).on('ready', onReady)

  return {
    client,
    start: async () => {
      isWanted = true
      // A connection without traffic would not notice that its Redis froze. A subscriber has no traffic of its own.
      pings = setInterval(() => void client.ping().catch(() => {}), PING_EVERY_MS)
      await client.connect().catch(() => {})
    },
    stop: async () => {
      isWanted = false
      clearInterval(pings)
      client.disconnect()
    },
  }
}
