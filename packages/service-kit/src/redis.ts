import { Redis } from 'ioredis'
import type { Logger } from 'pino'
import type { ZodType } from 'zod'
import { createOutageLog } from './outage-log.ts'

interface RedisConnectionOptions {
  readonly url: string
  /** Name of the connection in Redis' client list and in the log. */
  readonly name: string
  readonly logger: Logger
  /** Timeout of a command. Redis may still execute it, so nothing may rely on exact values in Redis. */
  readonly commandTimeoutMs?: number
  /** Consequence of an outage, for the log. Default: `continuing without it`. */
  readonly outage?: string
}

export interface RedisConnection {
  readonly client: Redis
  /** Waits a moment for Redis, but also succeeds without it: Redis is optional. */
  readonly start: () => Promise<void>
  readonly stop: () => Promise<void>
}

const COMMAND_TIMEOUT_MS = 100
const CONNECT_TIMEOUT_MS = 500
const MAX_RECONNECT_DELAY_MS = 1_000
const PING_EVERY_MS = 1_000
/** Silence of Redis after a command, at least the ping, after which the connection is replaced. */
const SILENT_MS = 1_500

/**
 * Creates a connection for commands. They fail at once while Redis is unavailable, and after `commandTimeoutMs` while it is
 * frozen. ioredis' defaults would queue them without limit and wait forever.
 */
export function createRedis(options: RedisConnectionOptions): RedisConnection {
  return createConnection(options, COMMAND_TIMEOUT_MS)
}

/**
 * Creates a connection for {@link subscribeTo}. Messages published during an outage are lost: nothing is received while
 * `client.status` is not `ready`.
 */
export function createRedisSubscriber(options: RedisConnectionOptions): RedisConnection {
  return createConnection(options, SILENT_MS)
}

function createConnection(
  { url, name, logger, commandTimeoutMs, outage: consequence = 'continuing without it' }: RedisConnectionOptions,
  defaultTimeoutMs: number,
): RedisConnection {
  const client = new Redis(url, {
    lazyConnect: true,
    connectionName: name,
    enableOfflineQueue: false,
    maxRetriesPerRequest: 0,
    // ioredis does not handle a rejection of its own resubscription, which would end the process.
    autoResubscribe: false,
    commandTimeout: commandTimeoutMs ?? defaultTimeoutMs,
    connectTimeout: CONNECT_TIMEOUT_MS,
    socketTimeout: SILENT_MS,
    keepAlive: 10_000,
    retryStrategy: (attempt) => Math.min(50 * 2 ** Math.min(attempt, 10), MAX_RECONNECT_DELAY_MS),
    // After a failover the old primary is a read-only replica. A new connection finds the new primary.
    reconnectOnError: (error) => error.message.startsWith('READONLY'),
  })
  const outage = createOutageLog(logger, {
    began: `Redis is unavailable; ${consequence}`,
    ended: 'Redis is back',
  })
  let isWanted = false
  let pings: NodeJS.Timeout | undefined

  /** Logs one line at the beginning and one at the end of an outage, which causes many errors a second. */
  function onUnavailable(err?: Error): void {
    if (isWanted) outage.begin({ connection: name, ...(err && { err }) })
  }
  function onReady(): void {
    outage.end({ connection: name })
  }
  client.on('error', onUnavailable).on('close', onUnavailable).on('ready', onReady)

  return {
    client,
    start: async () => {
      isWanted = true
      // Without traffic, which a subscriber does not have, a frozen Redis would go unnoticed.
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

interface SubscribeToOptions<Message> {
  readonly channel: string
  /** Schema of the messages, which are JSON. Others are ignored. */
  readonly schema: ZodType<Message>
  readonly onMessage: (message: Message) => void
  /** Called after each subscription: messages arrive from now on. */
  readonly onSubscribed?: () => void
  /** Log line for a failed subscription, with its consequence. */
  readonly warning: string
  readonly logger: Logger
}

/**
 * Subscribes to a channel of Redis pub/sub, again after each lost connection. `subscriber` is a connection of its own that is
 * not started yet: subscribed connections take no other commands.
 */
export function subscribeTo<Message>(
  subscriber: RedisConnection['client'],
  { channel, schema, onMessage, onSubscribed, warning, logger }: SubscribeToOptions<Message>,
): void {
  const subscribe = async (): Promise<void> => {
    try {
      await subscriber.subscribe(channel)
      onSubscribed?.()
    } catch (err) {
      logger.warn({ err }, warning)
    }
  }
  subscriber.on('ready', () => void subscribe())
  subscriber.on('message', (from, text) => {
    const message = from === channel ? parse(schema, text) : undefined
    if (message !== undefined) onMessage(message)
  })
}

function parse<Message>(schema: ZodType<Message>, text: string): Message | undefined {
  try {
    return schema.safeParse(JSON.parse(text)).data
  } catch {
    return undefined
  }
}
