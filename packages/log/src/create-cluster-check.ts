import { UnsafeClusterError } from './errors.ts'
import { silentLogger } from './kafka-client.ts'
import { keepTrying } from './keep-trying.ts'
import { createLogAdmin } from './log-admin.ts'
import type { LogConnection, Logger } from './log-connection.ts'
import { type UnsafeSetting, unsafeSettings } from './unsafe-settings.ts'

/** Short: a service starts without Kafka, too. */
const CONNECT_TIMEOUT_MS = 1_500

export interface ClusterCheckOptions {
  readonly topics: readonly string[]
  /** `refuse` in production: what could lose acknowledged records ends the service. Elsewhere one service says it once. */
  readonly unsafe: 'refuse' | 'warn' | 'ignore'
  readonly logger: Logger
  /** Told of an {@link UnsafeClusterError} that was found only after `start`, because the cluster was away. */
  readonly onUnsafe: (error: UnsafeClusterError) => void
}

export interface ClusterCheck {
  /**
   * Rejects with {@link UnsafeClusterError}. A cluster that is away, or has no topics yet, does not keep a service from
   * starting: it is looked at as soon as it is there.
   */
  readonly start: () => Promise<void>
  readonly stop: () => Promise<void>
}

/** Looks once, at boot, whether the cluster's settings keep what was acknowledged (docs/operations.md, Production mode). */
export function createClusterCheck(connection: LogConnection, options: ClusterCheckOptions): ClusterCheck {
  const { topics, unsafe, logger, onUnsafe } = options
  const stopping = new AbortController()

  const look = async (): Promise<void> => {
    const found = unsafeSettings(await readTopics(connection, topics))
    if (found.length === 0) return
    if (unsafe === 'refuse') throw refusal(found, logger)
    const settings = found.map(({ setting, is, shouldBe }) => `${setting} is ${is}, not ${shouldBe}`).join('; ')
    logger.warn({ settings }, 'The cluster could lose acknowledged records: fine here, not in production')
  }

  const lookLater = async (): Promise<void> => {
    try {
      await keepTrying(look, { message: 'Cannot read the cluster’s settings yet', logger, signal: stopping.signal })
    } catch (error) {
      if (error instanceof UnsafeClusterError) onUnsafe(error)
      else if (!stopping.signal.aborted) throw error
    }
  }

  return {
    start: async () => {
      if (unsafe === 'ignore') return
      try {
        await look()
      } catch (error) {
        if (error instanceof UnsafeClusterError) throw error
        void lookLater()
      }
    },
    stop: async () => stopping.abort(),
  }
}

async function readTopics(connection: LogConnection, topics: readonly string[]) {
  const admin = createLogAdmin(connection, { logger: silentLogger, connectTimeoutMs: CONNECT_TIMEOUT_MS })
  await admin.connect()
  try {
    return await admin.describeTopics(topics)
  } finally {
    await admin.disconnect()
  }
}

/** A line for each, since a log line is short. */
function refusal(found: readonly UnsafeSetting[], logger: Logger): UnsafeClusterError {
  for (const { setting, is, topics, shouldBe, because } of found)
    logger.error({ topics: topics.join(', '), because }, `${setting} is ${is}, must be ${shouldBe}`)
  return new UnsafeClusterError(found.map(({ setting }) => setting))
}
