import { withLogAdmin } from './with-log-admin.ts'
import { SettingsForbiddenError, UnsafeClusterError } from '../errors.ts'
import { isForbidden } from '../connect/kafkajs-errors.ts'
import { isFinal, keepTrying } from '../connect/keep-trying.ts'
import type { LogConnection, Logger } from '../connect/log-connection.ts'
import { type UnsafeSetting, unsafeSettings } from './unsafe-settings.ts'

/** Short, since a service starts without Kafka, too. */
const CONNECT_TIMEOUT_MS = 1_500

export interface ClusterCheckOptions {
  readonly topics: readonly string[]
  /** `refuse` in production: settings that could lose acknowledged records end the service. Elsewhere one service warns once. */
  readonly unsafe: 'refuse' | 'warn' | 'ignore'
  readonly logger: Logger
  /** In production: what `start` would have rejected with, but was found later, since the cluster was unavailable. */
  readonly onUnsafe: (error: Error) => void
}

export interface ClusterCheck {
  /**
   * In production, rejects with {@link UnsafeClusterError}, or with the reason why the settings can never be read. A
   * cluster that is unavailable, or has no topics yet, does not prevent a start: it is checked as soon as it is there.
   */
  readonly start: () => Promise<void>
  readonly stop: () => Promise<void>
}

/** Checks once, at boot, whether the cluster's settings keep acknowledged records (docs/guides/operate.md, Production mode). */
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

  /** For an error that another attempt cannot fix. */
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

/** kafkajs marks the error by a word of its own. Ours says what to grant to whom. */
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

/** One log line per setting, since the log shortens long lines. */
function refusal(found: readonly UnsafeSetting[], logger: Logger): UnsafeClusterError {
  for (const { setting, is, topics, shouldBe, because } of found)
    logger.error({ topics: topics.join(', '), because }, `${setting} is ${is}, must be ${shouldBe}`)
  return new UnsafeClusterError(found.map(({ setting }) => setting))
}
