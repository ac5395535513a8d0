import { AWAITED_RECORDS_CHANNEL, AwaitedRecord } from '@nextvisit/contracts'
import type { Db } from '@nextvisit/database'
import {
  createRedis,
  createRedisSubscriber,
  type Logger,
  type RedisConnection,
  type ServicePart,
  subscribeTo,
} from '@nextvisit/service-kit'
import { keepConnected } from './keep-connected.ts'
import { createReplyPublisher, type PublishReplies } from './reply-publisher.ts'

interface ReplySenderParts {
  /** Absent: no gateway waits for this consumer. */
  readonly redisUrl?: string
  readonly name: string
  /** The connection of the folds that gateways wait for. */
  readonly foldDb: Db
  readonly logger: Logger
}

/** Sends the replies of a consumer's process to waiting gateways, over Redis. */
interface ReplySender {
  readonly publishReplies: PublishReplies
  /** Calls `onAwaited` for each record that a gateway waits for. */
  readonly hearAwaited: (onAwaited: (record: AwaitedRecord) => void) => void
  readonly parts: readonly ServicePart[]
}

export function createReplySender({ redisUrl: url, name, foldDb, logger }: ReplySenderParts): ReplySender {
  if (url === undefined) return { publishReplies: () => Promise.resolve(), hearAwaited: () => {}, parts: [] }
  const redis = createRedis({ url, name, logger })
  const subscriber = createRedisSubscriber({ url, name: `${name}-awaited`, logger })
  return {
    publishReplies: createReplyPublisher(redis.client, logger),
    hearAwaited: (onAwaited) => hearAwaitedRecords(subscriber.client, onAwaited, logger),
    parts: [
      { name: 'fold connection', ...keepConnected(foldDb) },
      { name: 'redis', ...redis },
      { name: 'awaited records', ...subscriber },
    ],
  }
}

/** Calls `onMessage` for each record that a gateway names on {@link AWAITED_RECORDS_CHANNEL} (see `subscribeTo`). */
export function hearAwaitedRecords(
  subscriber: RedisConnection['client'],
  onMessage: (record: AwaitedRecord) => void,
  logger: Logger,
): void {
  const warning = 'Cannot receive the records that callers wait for: replies come later'
  subscribeTo(subscriber, { channel: AWAITED_RECORDS_CHANNEL, schema: AwaitedRecord, onMessage, warning, logger })
}
