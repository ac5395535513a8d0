import { createPublisher, type LogConnection, type Logger, type Publisher } from '@nextvisit/log'
import { type ChangeWriter, createChangeWriter } from './change-writer.ts'

/** A writer of changes with a connection of its own, for programs that publish nothing else. */
export interface ChangeLog extends ChangeWriter {
  /** Closes the connection. */
  readonly stop: () => Promise<void>
}

interface ChangeLogOptions {
  readonly source: 'console' | 'cli'
  readonly topic?: string | undefined
  readonly logger?: Logger
}

const STOP_WITHIN_MS = 1_000

/** Creates a writer that connects at its first change, and again after a failure. */
export function createChangeLog(connection: LogConnection, { source, topic, logger }: ChangeLogOptions): ChangeLog {
  let starting: Promise<Publisher> | undefined

  async function start(): Promise<Publisher> {
    const publisher = createPublisher(connection, logger && { logger })
    try {
      await publisher.start()
      return publisher
    } catch (error) {
      starting = undefined
      await publisher.stop(0)
      throw error
    }
  }

  const { record } = createChangeWriter({
    source,
    topic,
    publish: async (written, deadlineAt) => {
      starting ??= start()
      const publisher = await starting.catch(() => undefined)
      // Connecting counts for itself: a command has no other request that waits.
      const lastsUntil = Math.max(deadlineAt, performance.now() + LEAST_MS)
      return publisher?.publish(written, lastsUntil) ?? { outcome: 'not-published', reason: 'stopped' }
    },
  })
  return {
    record,
    stop: async () => {
      const publisher = await starting?.catch(() => undefined)
      await publisher?.stop(STOP_WITHIN_MS)
    },
  }
}

const LEAST_MS = 1_000
