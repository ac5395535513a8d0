import { silentLogger } from '../connect/kafka-client.ts'
import { keepTrying } from '../connect/keep-trying.ts'
import type { LogConnection } from '../connect/log-connection.ts'
import { createGroupMember, type GroupMember } from './group-member.ts'
import type { GroupReaderHandlers, GroupReaderOptions } from './group-reader-options.ts'

/** Recovery names the line that it ends. */
const LOST = 'Lost the consumer group; rejoining'

export interface GroupReader {
  readonly start: () => Promise<void>
  /** Returns false once other members may own the partitions that this one was assigned. */
  readonly isHeld: () => boolean
  /** Finishes the current batches and leaves the group. */
  readonly stop: () => Promise<void>
}

/**
 * Reads topics as a member of a Kafka consumer group, from the positions that the handlers return at each assignment. Each
 * batch begins where the previous one ended. A member that loses its brokers is replaced by a new one.
 */
export function createGroupReader(
  connection: LogConnection,
  options: GroupReaderOptions,
  handlers: GroupReaderHandlers,
): GroupReader {
  const { groupId, startWithinMs = 30_000, logger = silentLogger } = options
  const stopping = new AbortController()
  const latestBatches = new Map<string, Promise<unknown>>()
  let member: GroupMember | undefined

  function crash(error: Error): void {
    if (stopping.signal.aborted) return
    stopping.abort()
    void member?.leave()
    handlers.onCrash(error)
  }

  function onLost(cause: Error): void {
    if (stopping.signal.aborted) return
    logger.warn({ groupId, err: cause }, LOST)
    join().then(
      () => logger.info({ groupId, ends: LOST }, 'Rejoined the consumer group'),
      () => {}, // rejects only when stopped
    )
  }

  function join(giveUpAfterMs?: number): Promise<void> {
    function attempt(): Promise<void> {
      member = createGroupMember({
        connection,
        options,
        handlers: { ...handlers, onCrash: crash },
        onLost,
        latestBatches,
        stopping: stopping.signal,
      })
      return member.join()
    }
    const trying = { message: 'Cannot join the consumer group; retrying', logger, signal: stopping.signal }
    return keepTrying(attempt, { ...trying, ...(giveUpAfterMs !== undefined && { giveUpAfterMs }) })
  }

  return {
    start: () => join(startWithinMs),
    isHeld: () => member?.isHeld() ?? false,
    stop: async () => {
      stopping.abort()
      await member?.leave()
    },
  }
}
