import { setTimeout as sleep } from 'node:timers/promises'
import { TOPICS } from '@nextvisit/contracts'
import type { LogAdmin } from '@nextvisit/log'
import type { ConsumerDatabase } from '../environment/consumer-database.ts'
import { readStoredCheckpoints } from '../status/read-consumer.ts'
import { createDelays } from './delays.ts'

const CHECK_EVERY_MS = 25
const UNAVAILABLE_AGAIN_AFTER_MS = 1_000

interface ImportPaceOptions {
  readonly admin: Pick<LogAdmin, 'watermarks'>
  /** Databases of all consumers, by name. */
  readonly databases: ReadonlyMap<string, ConsumerDatabase>
  /** Time after which a consumer should have folded a record. */
  readonly maxDelayMs: (service: string) => number
  readonly onPause: (because: string) => void
}

/**
 * Creates the pace of an import: a function that waits while a consumer is delayed by more than its `maxDelayMs`. Live records
 * share the partitions, so they wait as long for their forms and read models.
 */
export function createImportPace({ admin, databases, maxDelayMs, onPause }: ImportPaceOptions): () => Promise<void> {
  const delays = createDelays()
  let checkedAt = -Infinity

  async function noteEnds(): Promise<void> {
    const ends = await admin.watermarks(TOPICS.userEvents)
    delays.noteEnds(new Map([...ends].map(([partition, { high }]) => [partition, high])), performance.now())
  }

  async function readMostDelayed() {
    const consumers = await Promise.all(
      [...databases].map(async ([service, database]) => {
        const checkpoints = await database.run((client) => readStoredCheckpoints(client, service))
        const own = checkpoints.filter(({ topic }) => topic === TOPICS.userEvents)
        const offsets = new Map(own.map(({ partition, nextOffset }) => [partition, nextOffset]))
        const ms = delays.delayMs(service, offsets, performance.now())
        return { service, ms, tooMuchMs: ms - maxDelayMs(service) }
      }),
    )
    return consumers.reduce((most, one) => (one.tooMuchMs > most.tooMuchMs ? one : most))
  }

  /** Notes the ends only before the first wait: the import adds nothing while it waits. */
  async function waitMs(isFirst: boolean): Promise<number> {
    try {
      if (isFirst) await noteEnds()
      const { service, ms, tooMuchMs } = await readMostDelayed()
      if (tooMuchMs <= 0) return 0
      onPause(`Waiting for ${service}, which is ${(ms / 1_000).toFixed(1)} s behind`)
      return CHECK_EVERY_MS
    } catch (error) {
      onPause(`Waiting: ${String(error)}`)
      return UNAVAILABLE_AGAIN_AFTER_MS
    }
  }

  return async () => {
    if (performance.now() - checkedAt < CHECK_EVERY_MS) return
    for (let ms = await waitMs(true); ms > 0; ms = await waitMs(false)) await sleep(ms)
    checkedAt = performance.now()
  }
}
