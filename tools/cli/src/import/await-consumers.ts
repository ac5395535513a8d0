import { setTimeout as sleep } from 'node:timers/promises'
import { TOPICS } from '@nextvisit/contracts'
import type { LogAdmin } from '@nextvisit/log'
import type { ConsumerDatabase } from '../environment/consumer-database.ts'
import { lagOf } from '../status/lag.ts'
import { readStoredCheckpoints } from '../status/read-consumer.ts'

const LOOK_AGAIN_AFTER_MS = 50
const UNAVAILABLE_AGAIN_AFTER_MS = 1_000

interface AwaitConsumersOptions {
  readonly admin: Pick<LogAdmin, 'watermarks'>
  /** Databases of all consumers, by name. */
  readonly databases: ReadonlyMap<string, ConsumerDatabase>
  readonly maxLag: number
  readonly onPause: (because: string) => void
}

/** Waits until no consumer lags by more than `maxLag` records, because live traffic comes first. */
export async function awaitConsumers(options: AwaitConsumersOptions): Promise<void> {
  const { maxLag, onPause } = options
  for (;;) {
    const waitMs = await readMostLagging(options).then(
      ({ service, records }) => {
        if (records <= maxLag) return 0
        onPause(`Waiting for ${service}, which lags by ${records} records`)
        return LOOK_AGAIN_AFTER_MS
      },
      (error: unknown) => {
        onPause(`Waiting: ${String(error)}`)
        return UNAVAILABLE_AGAIN_AFTER_MS
      },
    )
    if (waitMs === 0) return
    await sleep(waitMs)
  }
}

async function readMostLagging({ admin, databases }: AwaitConsumersOptions) {
  const watermarks = new Map([[TOPICS.userEvents as string, await admin.watermarks(TOPICS.userEvents)]])
  const lags = await Promise.all(
    [...databases].map(async ([service, database]) => {
      const checkpoints = await database.run((client) => readStoredCheckpoints(client, service))
      return { service, records: lagOf(checkpoints, watermarks, Date.now()).records }
    }),
  )
  return lags.reduce((most, lag) => (lag.records > most.records ? lag : most))
}
