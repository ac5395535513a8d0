import type { EvaluatorReply } from '@nextvisit/contracts'
import { toError } from '@nextvisit/log'
import { createOutageLog, type Logger, type RedisConnection } from '@nextvisit/service-kit'

export interface AddressedReply {
  readonly channel: string
  readonly reply: EvaluatorReply
}

/** Publishes the replies of a batch in one round trip. Best effort: never rejects. */
export type PublishReplies = (replies: readonly AddressedReply[]) => Promise<void>

/**
 * Publishes replies over Redis pub/sub. They may be lost: a gateway that receives none answers "later". A failing Redis
 * therefore fails no batch. The log names the first loss, and the recovery.
 */
export function createReplyPublisher(redis: RedisConnection['client'], logger: Logger): PublishReplies {
  const losing = createOutageLog(logger, {
    began: 'replies are lost; gateways answer without them',
    ended: 'replies arrive again',
  })

  return async (replies) => {
    const error = await publishAll(redis, replies)
    if (error) losing.begin({ err: error })
    else losing.end()
  }
}

/** Returns the first error, if there was one. */
async function publishAll(
  redis: RedisConnection['client'],
  replies: readonly AddressedReply[],
): Promise<Error | undefined> {
  const pipeline = redis.pipeline()
  for (const { channel, reply } of replies) pipeline.publish(channel, JSON.stringify(reply))
  try {
    const results = (await pipeline.exec()) ?? []
    return results.find(([error]) => error)?.[0] ?? undefined
  } catch (error) {
    return toError(error)
  }
}
