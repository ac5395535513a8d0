import { type LogAdmin, TopicMissingError } from '@nextvisit/log'
import { LogAwayError } from './errors.ts'

/**
 * How many partitions a topic has. Read once and cached: if it changed, users would move to other partitions.
 * Rejects with LogAwayError and TopicMissingError, which may both pass.
 */
export type PartitionCounts = (topic: string) => Promise<number>

export function createPartitionCounts(logAdmin: Pick<LogAdmin, 'partitionCount'>): PartitionCounts {
  const known = new Map<string, number>()

  return async (topic) => {
    const count = known.get(topic) ?? (await read(topic))
    known.set(topic, count)
    return count
  }

  async function read(topic: string): Promise<number> {
    const count = await logAdmin.partitionCount(topic).catch((cause: unknown) => {
      throw new LogAwayError({ cause })
    })
    if (count === 0) throw new TopicMissingError([topic])
    return count
  }
}
