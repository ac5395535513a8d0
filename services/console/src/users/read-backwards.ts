import { createLogReader, type FetchedRecord, type LogConnection, withLogAdmin } from '@nextvisit/log'

export interface BackwardsReading {
  /** Matching records, oldest first. */
  readonly records: readonly FetchedRecord[]
  /** Number of records read. */
  readonly looked: number
  readonly stopped: 'beginning' | 'records' | 'time'
  /** Time of the oldest record read, in ms since the epoch; undefined: none. */
  readonly sinceMs: number | undefined
}

interface BackwardsOptions {
  readonly topic: string
  readonly partition: number
  readonly isWanted: (record: FetchedRecord) => boolean
  readonly maxRecords: number
  readonly withinMs: number
}

/** A person waits for the page. */
const GIVE_UP_AFTER_MS = 5_000
/** Number of records in the first step, and growth factor of each further one. */
const FIRST_STEP = 1_000
const GROWTH = 4

/** Reads a partition backwards from its end, in growing steps, up to a bound. */
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
