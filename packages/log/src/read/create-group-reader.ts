import { silentLogger } from '../connect/kafka-client.ts'
import { keepTrying } from '../connect/keep-trying.ts'
import type { LogConnection } from '../connect/log-connection.ts'
import { topicPartition } from '../topic-partition.ts'
import { createGroupMember, type GroupMember } from './group-member.ts'
import type { GroupReader, GroupReaderHandlers, GroupReaderOptions } from './group-reader.ts'

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
  const onBatch = oneAtATime(handlers.onBatch)
  let member: GroupMember | undefined

  const crash = (error: Error): void => {
    if (stopping.signal.aborted) return
    stopping.abort()
    void member?.leave()
    handlers.onCrash(error)
  }

  const onLost = (cause: Error): void => {
    if (stopping.signal.aborted) return
    logger.warn({ groupId, err: cause }, 'Lost the consumer group; rejoining')
    join().then(
      () => logger.info({ groupId }, 'Rejoined the consumer group'),
      () => {}, // rejects only when stopped
    )
  }

  const join = (giveUpAfterMs?: number): Promise<void> => {
    const attempt = (): Promise<void> => {
      member = createGroupMember(connection, options, { ...handlers, onBatch, onLost, onCrash: crash }, stopping.signal)
      return member.join()
    }
    const trying = { message: 'Cannot join the consumer group; retrying', logger, signal: stopping.signal }
    return keepTrying(attempt, { ...trying, ...(giveUpAfterMs !== undefined && { giveUpAfterMs }) })
  }

  return {
    start: () => join(startWithinMs),
    stop: async () => {
      stopping.abort()
      await member?.leave()
    },
    assigned: () => member?.assigned() ?? new Map<string, readonly number[]>(),
  }
}

/** A partition that was assigned again may be fetched while a batch of its last assignment is still being handled. */
function oneAtATime(onBatch: GroupReaderHandlers['onBatch']): GroupReaderHandlers['onBatch'] {
  const inFlight = new Map<string, Promise<void>>()
  return async (batch) => {
    const name = topicPartition(batch.topic, batch.partition)
    const before = inFlight.get(name)
    const handling = before ? before.catch(() => {}).then(() => onBatch(batch)) : onBatch(batch)
    inFlight.set(name, handling)
    await handling
  }
}
