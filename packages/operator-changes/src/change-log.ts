import { setTimeout as sleep } from 'node:timers/promises'
import {
  createPublisher,
  type LogConnection,
  type Logger,
  type Publisher,
  type PublishOutcome,
  type RecordToPublish,
} from '@nextvisit/log'
import { type ChangeWriter, type ChangeWriterParts, createChangeWriter } from './change-writer.ts'

/** A writer of changes with a connection of its own, so that a missing topic delays no other records of the program. */
export interface ChangeLog extends ChangeWriter {
  /** Lets ends that are being written finish for a moment, and closes the connection. */
  readonly stop: () => Promise<void>
}

interface ChangeLogOptions extends Pick<ChangeWriterParts, 'source' | 'topic' | 'isEndAwaited'> {
  readonly logger?: Logger
}

/**
 * How long a record may take, besides connecting. A request to the gateway has a budget of 2 s; commands run soon after the start of a
 * broker, too, which may take longer for the first record of a topic.
 */
const WRITE_WITHIN_MS = { gateway: 1_500, console: 1_500, cli: 5_000 } as const
const STOP_WITHIN_MS = 1_000

/** Creates a writer that connects at its first change, and again after a failure. */
export function createChangeLog(connection: LogConnection, { logger, ...options }: ChangeLogOptions): ChangeLog {
  let starting: Promise<Publisher> | undefined
  const writing = new Set<Promise<unknown>>()

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

  async function publish(written: RecordToPublish, latestAt = Infinity): Promise<PublishOutcome> {
    starting ??= start()
    const connected = starting.catch(() => undefined)
    const publisher = await (latestAt === Infinity ? connected : Promise.race([connected, passing(latestAt)]))
    const deadlineAt = Math.min(latestAt, performance.now() + WRITE_WITHIN_MS[options.source])
    return publisher?.publish(written, deadlineAt) ?? { outcome: 'not-published', reason: 'stopped' }
  }

  const { record } = createChangeWriter({
    ...options,
    publish: (written, latestAt) => {
      const outcome = publish(written, latestAt)
      writing.add(outcome)
      return outcome.finally(() => writing.delete(outcome))
    },
    onEndMissing: (outcome) => logger?.warn({ outcome }, 'The end of a change is not in the log'),
  })
  return {
    record,
    stop: async () => {
      await Promise.race([Promise.allSettled(writing), sleep(STOP_WITHIN_MS, undefined, { ref: false })])
      const publisher = await starting?.catch(() => undefined)
      await publisher?.stop(STOP_WITHIN_MS)
    },
  }
}

function passing(latestAt: number): Promise<undefined> {
  return sleep(Math.max(0, latestAt - performance.now()), undefined, { ref: false })
}
