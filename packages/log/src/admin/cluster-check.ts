import { withLogAdmin } from './with-log-admin.ts'
import { SettingsForbiddenError, UnsafeClusterError } from '../errors.ts'
import { hasType } from '../connect/kafkajs-errors.ts'
import { isMarkedFinal, keepTrying } from '../connect/keep-trying.ts'
import type { LogConnection, Logger } from '../connect/log-connection.ts'
import { type UnsafeSetting, unsafeSettings } from './unsafe-settings.ts'

/** Short, since a service also starts without Kafka. */
const CONNECT_TIMEOUT_MS = 1_500

export interface ClusterCheckOptions {
  readonly topics: readonly string[]
  /** Reaction to settings that could lose acknowledged records: `refuse` in production, elsewhere one service warns once. */
  readonly unsafe: 'refuse' | 'warn' | 'ignore'
  readonly logger: Logger
  /** In production: called with the error if the cluster becomes available only after `start`, and is unsafe. */
  readonly onUnsafe: (error: Error) => void
}

export interface ClusterCheck {
  /**
   * In production, rejects with {@link UnsafeClusterError}, and if the settings can never be read. A cluster that is
   * unavailable or has no topics yet does not prevent a start: it is checked as soon as it is available.
   */
  readonly start: () => Promise<void>
  readonly stop: () => Promise<void>
}

/** Checks once, at boot, that the cluster's settings keep acknowledged records (operate.md, Production mode). */
export function createClusterCheck(connection: LogConnection, options: ClusterCheckOptions): ClusterCheck {
  const { topics, unsafe, logger, onUnsafe } = options
  const stopping = new AbortController()

  const look = async (): Promise<void> => {
    const found = unsafeSettings(await readTopics(connection, topics).catch(rethrowForbidden(connection, topics)))
    if (found.length === 0) return
    if (unsafe === 'refuse') throw refusal(found, logger)
    const settings = found.map(({ setting, is, shouldBe }) => `${setting} is ${is}, not ${shouldBe}`).join('; ')
    logger.warn({ settings }, 'The cluster could lose acknowledged records: unsafe in production')
  }

  const lookLater = async (): Promise<void> => {
    try {
      await keepTrying(look, {
        message: 'Cannot read the cluster’s settings yet; retrying',
        logger,
        signal: stopping.signal,
      })
    } catch (error) {
      if (!stopping.signal.aborted) settle(error as Error, onUnsafe)
    }
  }

  /** Handles an error that a retry cannot fix. */
  const settle = (error: Error, refuse: (error: Error) => void): void => {
    if (unsafe === 'refuse') return refuse(error)
    logger.warn({ err: error }, 'Cannot read the cluster’s settings: the safety of records was not checked')
  }

  return {
    start: async () => {
      if (unsafe === 'ignore') return
      try {
        await look()
      } catch (error) {
        if (!isMarkedFinal(error)) return void lookLater()
        settle(error as Error, (refused) => {
          throw refused
        })
      }
    },
    stop: async () => stopping.abort(),
  }
}

/** Replaces a denied request by an error that names the missing permission and the principal. */
export function rethrowForbidden(
  { sasl, clientId }: LogConnection,
  topics: readonly string[],
): (error: unknown) => never {
  return (error) => {
    if (!hasType(error, 'TOPIC_AUTHORIZATION_FAILED', 'CLUSTER_AUTHORIZATION_FAILED')) throw error
    const principal = sasl ? `User:${sasl.username}` : `The principal of ${clientId}`
    throw new SettingsForbiddenError(principal, topics, { cause: error })
  }
}

function readTopics(connection: LogConnection, topics: readonly string[]) {
  return withLogAdmin(connection, (admin) => admin.describeTopics(topics), { connectTimeoutMs: CONNECT_TIMEOUT_MS })
}

/** Logs one line per setting, since the log shortens long lines. */
function refusal(found: readonly UnsafeSetting[], logger: Logger): UnsafeClusterError {
  for (const { setting, is, topics, shouldBe, because } of found)
    logger.error({ topics: topics.join(', '), because }, `${setting} is ${is}, must be ${shouldBe}`)
  return new UnsafeClusterError(found.map(({ setting }) => setting))
}
