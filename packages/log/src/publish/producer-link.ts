import { keepTrying } from '../connect/keep-trying.ts'
import type { Logger } from '../connect/log-connection.ts'
import type { IdempotentProducer } from './idempotent-producer.ts'

/** Recovery names the line that it ends. */
const UNREACHABLE = 'Cannot reach the log; retrying'

/** A publisher's producer. It is replaced after each failure, because its next sequence is unknown then. */
interface ProducerLink {
  /** Connects the first producer. Rejects with BrokerUnreachableError. */
  readonly start: () => Promise<void>
  /** Returns the connected producer; undefined while a new one connects. */
  readonly producer: () => IdempotentProducer | undefined
  /** Discards the producer and connects a new one, with retries until `close`. */
  readonly replace: (reason: Error) => void
  readonly close: (reason: Error) => void
}

interface ProducerLinkOptions {
  readonly connect: () => Promise<IdempotentProducer>
  /** Called when a new producer has replaced a discarded one. */
  readonly onReplaced: () => void
  readonly logger: Logger
}

export function createProducerLink({ connect, onReplaced, logger }: ProducerLinkOptions): ProducerLink {
  const closing = new AbortController()
  let producer: IdempotentProducer | undefined

  async function reconnect(): Promise<void> {
    const trying = { message: UNREACHABLE, logger, signal: closing.signal }
    const connected = await keepTrying(connect, trying)
    if (closing.signal.aborted) return connected.discard(closing.signal.reason as Error)
    producer = connected
    logger.info({ ends: UNREACHABLE }, 'Connected to the log again')
    onReplaced()
  }

  function discard(reason: Error): void {
    producer?.discard(reason)
    producer = undefined
  }

  return {
    start: async () => {
      producer = await connect()
    },
    producer: () => producer,
    replace: (reason) => {
      discard(reason)
      reconnect().catch(() => {}) // rejects only when closed
    },
    close: (reason) => {
      closing.abort(reason)
      discard(reason)
    },
  }
}
