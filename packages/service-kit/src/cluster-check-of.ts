import { TOPICS, USER_KEYS_TOPIC } from '@nextvisit/contracts'
import { type ClusterCheck, type ClusterCheckOptions, createClusterCheck, type LogConnection } from '@nextvisit/log'

export interface ServiceClusterCheckOptions extends Pick<ClusterCheckOptions, 'logger' | 'onUnsafe'> {
  readonly mode: 'production' | 'local'
  /** Reaction outside production. Default: `ignore`, because one service that warns is enough. */
  readonly locally?: 'warn' | 'ignore'
  /** Default: all topics that services use. */
  readonly topics?: readonly string[]
}

/**
 * Creates a service's check of the cluster. In production an unsafe cluster ends the service (operate.md, Production mode).
 */
export function clusterCheckOf(connection: LogConnection, options: ServiceClusterCheckOptions): ClusterCheck {
  const { mode, locally = 'ignore', topics = [...Object.values(TOPICS), USER_KEYS_TOPIC], logger, onUnsafe } = options
  return createClusterCheck(connection, {
    topics,
    unsafe: mode === 'production' ? 'refuse' : locally,
    logger,
    onUnsafe,
  })
}
