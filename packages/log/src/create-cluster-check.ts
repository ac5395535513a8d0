import { isForbidden, SettingsForbiddenError, UnsafeClusterError } from './errors.ts'
import { isFinal, keepTrying } from './keep-trying.ts'
import type { LogConnection, Logger } from './log-connection.ts'
import { type UnsafeSetting, unsafeSettings } from './unsafe-settings.ts'
import { withLogAdmin } from './with-log-admin.ts'

/** Short: a service starts without Kafka, too. */
const CONNECT_TIMEOUT_MS = 1_500

export interface ClusterCheckOptions {
  readonly topics: readonly string[]
  /** `refuse` in production: what could lose acknowledged records ends the service. Elsewhere one service says it once. */
  readonly unsafe: 'refuse' | 'warn' | 'ignore'
  readonly logger: Logger
  /** In production, told of what `start` would have rejected with, but was found only later: the cluster was away. */
  readonly onUnsafe: (error: Error) => void
}

export interface ClusterCheck {
  /**
   * In production, rejects with {@link UnsafeClusterError}, or with why the settings can never be read. A cluster that is
   * away, or has no topics yet, does not keep a service from starting: it is looked at as soon as it is there.
   */
  readonly start: () => Promise<void>
  readonly stop: () => Promise<void>
}

/** Looks once, at boot, whether the cluster's settings keep what was acknowledged (docs/operations.md, Production mode). */
export function createClusterCheck(connection: LogConnection, options: ClusterCheckOptions): ClusterCheck {
  const { topics, unsafe, logger, onUnsafe } = options
  const stopping = new AbortController()

  const look = async (): Promise<void> => {
    const found = unsafeSettings(await readTopics(connection, topics).catch(rethrowForbidden(connection, topics)))
    if (found.length === 0) return
    if (unsafe === 'refuse') throw refusal(found, logger)
    const settings = found.map(({ setting, is, shouldBe }) => `${setting} is ${is}, not ${shouldBe}`).join('; ')
    logger.warn({ settings }, 'The cluster could lose acknowledged records: fine here, not in production')
  }

  const lookLater = async (): Promise<void> => {
    try {
      await keepTrying(look, { message: 'Cannot read the cluster’s settings yet', logger, signal: stopping.signal })
    } catch (error) {
      if (!stopping.signal.aborted) settle(error as Error, onUnsafe)
    }
  }

  /** What no trying again mends. */
  const settle = (error: Error, refuse: (error: Error) => void): void => {
    if (unsafe === 'refuse') return refuse(error)
    logger.warn({ err: error }, 'Cannot read the cluster’s settings: whether it could lose records was not checked')
  }

  return {
    start: async () => {
      if (unsafe === 'ignore') return
      try {
        await look()
      } catch (error) {
        if (!isFinal(error)) return void lookLater()
        settle(error as Error, (refused) => {
          throw refused
        })
      }
    },
    stop: async () => stopping.abort(),
  }
}

/** kafkajs calls it worth a retry or not by a word of its own; ours says what to grant to whom. */
export function rethrowForbidden(
  { sasl, clientId }: LogConnection,
  topics: readonly string[],
): (error: unknown) => never {
  return (error) => {
    if (!isForbidden(error)) throw error
    const principal = sasl ? `User:${sasl.username}` : `The principal of ${clientId}`
    throw new SettingsForbiddenError(principal, topics, { cause: error })
  }
}

function readTopics(connection: LogConnection, topics: readonly string[]) {
  return withLogAdmin(connection, (admin) => admin.describeTopics(topics), { connectTimeoutMs: CONNECT_TIMEOUT_MS })
}

/** A line for each, since a log line is short. */
function refusal(found: readonly UnsafeSetting[], logger: Logger): UnsafeClusterError {
  for (const { setting, is, topics, shouldBe, because } of found)
    logger.error({ topics: topics.join(', '), because }, `${setting} is ${is}, must be ${shouldBe}`)
  return new UnsafeClusterError(found.map(({ setting }) => setting))
}
