import { once } from 'node:events'
import { setTimeout as sleep } from 'node:timers/promises'
import { readLog, type FetchedRecord, type LogConnection, withLogAdmin } from '@nextvisit/log'

interface FollowOptions {
  readonly connection: LogConnection
  readonly topic: string
  /** Number of the newest records of each partition to start with. */
  readonly newest: number
  readonly onRecords: (partition: number, records: readonly FetchedRecord[]) => void
  /** Called when the newest records are read, and new ones follow. */
  readonly onCurrent: () => void
  /** Called when the log becomes available or unavailable. */
  readonly onLog: (isThere: boolean) => void
  readonly signal: AbortSignal
}

const GIVE_UP_AFTER_MS = 3_000
const AGAIN_AFTER_MS = 1_000
/** A fetch has at most ten times as much. */
const FETCH_BYTES_PER_PARTITION = 256 * 1024

/** Reads a topic from near its end, without a consumer group, until it is aborted. Resumes at its position after an outage. */
export async function followTopic(options: FollowOptions): Promise<void> {
  // A query to a frozen broker cannot be aborted, and the caller need not wait for it.
  await Promise.race([keepFollowing(options), once(options.signal, 'abort')])
}

async function keepFollowing(options: FollowOptions): Promise<void> {
  const { connection, topic, newest, onRecords, onCurrent, onLog, signal } = options
  let positions = new Map<number, bigint>()

  const read = (until: 'end' | undefined) =>
    readLog(connection, {
      topic,
      from: positions,
      onBatch: ({ partition, nextOffset, records }) => {
        positions.set(partition, nextOffset)
        onRecords(partition, records)
      },
      signal,
      maxBytesPerPartition: FETCH_BYTES_PER_PARTITION,
      ...(until && { until }),
      giveUpAfterMs: GIVE_UP_AFTER_MS,
      withStandIns: true,
    })

  async function follow(): Promise<void> {
    if (positions.size === 0) positions = await positionsNearEnd(connection, topic, newest)
    await read('end')
    onLog(true)
    if (!signal.aborted) onCurrent()
    await read(undefined)
  }

  while (!signal.aborted) {
    await follow().catch((error: unknown) => {
      onLog(false)
      // The log was truncated or recreated: start from its present end.
      if (isOutsideLog(error)) positions = new Map()
    })
    await sleep(AGAIN_AFTER_MS, undefined, { signal }).catch(() => undefined)
  }
}

async function positionsNearEnd(
  connection: LogConnection,
  topic: string,
  newest: number,
): Promise<Map<number, bigint>> {
  const marks = await withLogAdmin(connection, (admin) => admin.watermarks(topic))
  return new Map(
    Array.from(marks, ([partition, { low, high }]) => {
      const begin = high - BigInt(newest)
      return [partition, begin > low ? begin : low]
    }),
  )
}

function isOutsideLog(error: unknown): boolean {
  return error instanceof Error && 'code' in error && error.code === 'POSITION_OUTSIDE_LOG'
}
