import { createLogReader, type FetchedRecord, type LogConnection, withLogAdmin } from '@nextvisit/log'

export interface BackwardsReading {
  /** Those that were asked for, the oldest first. */
  readonly records: readonly FetchedRecord[]
  /** How many were looked at. */
  readonly looked: number
  readonly stopped: 'beginning' | 'records' | 'time'
  /** The time of the oldest record that was looked at, ms since the epoch; undefined: there was none. */
  readonly sinceMs: number | undefined
}

export interface BackwardsOptions {
  readonly topic: string
  readonly partition: number
  readonly isWanted: (record: FetchedRecord) => boolean
  readonly maxRecords: number
  readonly withinMs: number
}

/** Somebody waits in front of a page. */
const GIVE_UP_AFTER_MS = 5_000
/** The first step back, and by how much each next one is longer. */
const FIRST_STEP = 1_000
const GROWTH = 4

/** Reads a partition from its end backwards, in steps of growing length, until a bound stops it. */
export async function readBackwards(connection: LogConnection, options: BackwardsOptions): Promise<BackwardsReading> {
  const { topic, partition, isWanted, maxRecords, withinMs } = options
  const until = performance.now() + withinMs
  const marks = (await withLogAdmin(connection, (admin) => admin.watermarks(topic))).get(partition)
  const { low, high } = marks ?? { low: 0n, high: 0n }
  const bound = high - BigInt(maxRecords) > low ? high - BigInt(maxRecords) : low
  const reader = createLogReader(connection, { giveUpAfterMs: GIVE_UP_AFTER_MS })
  const steps: FetchedRecord[][] = []
  let [end, step, looked] = [high, FIRST_STEP, 0]
  let sinceMs: number | undefined
  while (end > bound) {
    if (performance.now() > until) return { records: steps.flat(), looked, stopped: 'time', sinceMs }
    const begin = end - BigInt(step) > bound ? end - BigInt(step) : bound
    const wanted: FetchedRecord[] = []
    let oldestMs: number | undefined
    const onBatch = ({ records }: { readonly records: readonly FetchedRecord[] }): void => {
      looked += records.length
      oldestMs ??= records[0]?.timestampMs
      wanted.push(...records.filter(isWanted))
    }
    await reader.readFrom(topic, new Map([[partition, begin]]), onBatch, { until: new Map([[partition, end]]) })
    steps.unshift(wanted)
    sinceMs = oldestMs ?? sinceMs
    ;[end, step] = [begin, step * GROWTH]
  }
  return { records: steps.flat(), looked, stopped: bound === low ? 'beginning' : 'records', sinceMs }
}
