import type { Logger } from 'pino'
import type { ZodType } from 'zod'
import type { RedisConnection } from './create-redis.ts'

export interface SubscribeToOptions<Message> {
  readonly channel: string
  /** Of the messages' JSON. What does not fit is passed over. */
  readonly schema: ZodType<Message>
  readonly onMessage: (message: Message) => void
  /** Called each time messages can be heard from now on. */
  readonly onSubscribed?: () => void
  /** The line in the log where the channel can't be heard: what follows from it. */
  readonly warning: string
  readonly logger: Logger
}

/**
 * Hears a channel of Redis pub/sub, again after each lost connection. `subscriber` is a connection of its own, not started
 * yet: one that subscribes takes no other commands.
 */
export function subscribeTo<Message>(
  subscriber: RedisConnection['client'],
  { channel, schema, onMessage, onSubscribed, warning, logger }: SubscribeToOptions<Message>,
): void {
  const listen = async (): Promise<void> => {
    try {
      await subscriber.subscribe(channel)
      onSubscribed?.()
    } catch (err) {
      logger.warn({ err }, warning)
    }
  }
  subscriber.on('ready', () => void listen())
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
