import type { AwaitedRecord } from '@nextvisit/contracts'
import type { Db } from '@nextvisit/database'
import { createRedis, createRedisSubscriber, type Logger, type ServicePart } from '@nextvisit/service-kit'
import { hearAwaitedRecords } from './hear-awaited-records.ts'
import { keepConnected } from './keep-connected.ts'
import { createReplyPublisher, type PublishReplies } from './reply-publisher.ts'

interface RepliesOptions {
  /** Absent: no gateway waits for this consumer. */
  readonly redisUrl?: string
  readonly name: string
  /** The connection of the folds that gateways wait for. */
  readonly foldDb: Db
  readonly logger: Logger
}

/** The replies of a consumer's process to waiting gateways, over Redis. */
interface Replies {
  readonly publishReplies: PublishReplies
  /** Calls `onAwaited` for each record that a gateway waits for. */
  readonly hearAwaited: (onAwaited: (record: AwaitedRecord) => void) => void
  readonly parts: readonly ServicePart[]
}

export function createReplies({ redisUrl: url, name, foldDb, logger }: RepliesOptions): Replies {
  if (url === undefined) return { publishReplies: () => Promise.resolve(), hearAwaited: () => {}, parts: [] }
  const redis = createRedis({ url, name, logger })
  const subscriber = createRedisSubscriber({ url, name: `${name}-awaited`, logger })
  return {
    publishReplies: createReplyPublisher(redis.client, logger),
    hearAwaited: (onAwaited) => hearAwaitedRecords(subscriber.client, onAwaited, logger),
    parts: [
      { name: 'folds', ...keepConnected(foldDb) },
      { name: 'redis', ...redis },
      { name: 'awaited records', ...subscriber },
    ],
  }
}
