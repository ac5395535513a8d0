import { setTimeout as sleep } from 'node:timers/promises'
import { readWatermarks } from '../admin/with-log-admin.ts'
import { keepTrying } from '../connect/keep-trying.ts'
import type { LogConnection, Logger } from '../connect/log-connection.ts'
import type { FetchPosition } from '../wire/fetch-message.ts'
import type { GroupReaderHandlers } from './group-reader-options.ts'
import { requireInLog } from './require-in-log.ts'

const MAX_ATTEMPTS = 3
const RETRY_AFTER_MS = 200

/**
 * Asks the handler for the positions of assigned partitions, and asks again if one is outside the log: the partition's last
 * owner may just have committed a batch past the watermarks that were read before.
 */
export async function locatePositions(
  connection: LogConnection,
  assigned: ReadonlyMap<string, readonly number[]>,
  positionsOf: GroupReaderHandlers['positions'],
  { logger, signal }: { readonly logger: Logger; readonly signal: AbortSignal },
): Promise<readonly FetchPosition[]> {
  async function locate(topic: string, partitions: readonly number[]): Promise<readonly FetchPosition[]> {
    const trying = { message: 'Cannot read watermarks; retrying', logger, signal }
    const all = await keepTrying(() => readWatermarks(connection, topic, { logger }), trying)
    const watermarks = new Map([...all].filter(([partition]) => partitions.includes(partition)))
    const positions = await positionsOf(topic, watermarks)
    for (const [partition, position] of positions) requireInLog(topic, partition, position, watermarks.get(partition))
    return Array.from(positions, ([partition, offset]) => ({ topic, partition, offset }))
  }

  const located: FetchPosition[] = []
  for (const [topic, partitions] of assigned) {
    for (let attempt = 1; ; attempt += 1) {
      try {
        located.push(...(await locate(topic, partitions)))
        break
      } catch (error) {
        if (attempt === MAX_ATTEMPTS || signal.aborted) throw error
        logger.debug({ topic, err: error }, 'Positions were refused; retrying')
        await sleep(RETRY_AFTER_MS)
      }
    }
  }
  return located
}
