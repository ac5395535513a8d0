import { decodeRecord, type DryRunOutcome, FormFact, UserFact } from '@nextvisit/contracts'
import { readLog, type FetchedBatch, type LogConnection, readWatermarks, type Watermarks } from '@nextvisit/log'
import type { ZodType } from 'zod'
import type { Progress } from '../output/progress.ts'
import type { Simulation } from './simulate-forms.ts'

/** Topics of the log; specs use their own. */
export type Topics = Readonly<Record<'userEvents' | 'formEvents' | 'catalog', string>>

interface ReadPastOptions {
  readonly connection: LogConnection
  readonly topics: Topics
  readonly simulation: Simulation
  /** Approximate number of the newest records of each topic to read, evenly from all partitions; undefined: all. */
  readonly maxRecords: number | undefined
  readonly progress: Progress
}

/**
 * Feeds a simulation with the current records of the log. The reader has no group, and commits and publishes nothing.
 * `form-events` comes first, because it has the contents of the queues.
 */
export async function readPast(
  options: ReadPastOptions,
): Promise<Pick<DryRunOutcome, 'records' | 'unreadable' | 'since'>> {
  const { connection, topics, simulation, maxRecords, progress } = options
  const forms = partsOf(await readWatermarks(connection, topics.formEvents), maxRecords)
  const users = partsOf(await readWatermarks(connection, topics.userEvents), maxRecords)
  const whole = sizeOf(forms) + sizeOf(users)
  const counts = { records: 0, unreadable: 0 }
  let [passed, sinceMs] = [0, 0]

  const readTopic = async <Fact>(
    topic: string,
    parts: ReadonlyMap<number, Part>,
    schema: ZodType<Fact>,
    take: (fact: Fact) => void,
  ): Promise<void> => {
    const from = new Map(Array.from(parts, ([partition, { begin }]) => [partition, begin]))
    const cut = new Set([...parts.keys()].filter((partition) => parts.get(partition)?.isCut))
    const onBatch = ({ partition, records, fetchedFrom, nextOffset }: FetchedBatch): void => {
      const [first] = records
      if (first && cut.delete(partition)) sinceMs = Math.max(sinceMs, first.timestampMs)
      for (const { value, headers } of records) {
        const decoded = decodeRecord(schema, value, headers)
        if (decoded.outcome === 'ok') take(decoded.fact)
        else counts.unreadable += 1
      }
      counts.records += records.length
      passed += Number(nextOffset - fetchedFrom)
      progress.report(passed / whole, counts.records)
    }
    await readLog(connection, { topic, from, onBatch, until: 'end', withStandIns: true })
  }

  try {
    await readTopic(topics.formEvents, forms, FormFact, simulation.takeFormFact)
    await readTopic(topics.userEvents, users, UserFact, simulation.takeUserFact)
  } finally {
    progress.end()
  }
  return { ...counts, since: sinceMs === 0 ? null : new Date(sinceMs).toISOString() }
}

/** The offsets of a partition to read. */
interface Part {
  readonly begin: bigint
  readonly end: bigint
  /** True if older records are skipped. */
  readonly isCut: boolean
}

function partsOf(marks: ReadonlyMap<number, Watermarks>, maxRecords: number | undefined): ReadonlyMap<number, Part> {
  const share = maxRecords === undefined ? undefined : BigInt(Math.max(1, Math.floor(maxRecords / marks.size)))
  return new Map(
    Array.from(marks, ([partition, { low, high }]) => {
      const isCut = share !== undefined && high - share > low
      return [partition, { begin: isCut ? high - share : low, end: high, isCut }]
    }),
  )
}

function sizeOf(parts: ReadonlyMap<number, Part>): number {
  return [...parts.values()].reduce((sum, { begin, end }) => sum + Number(end - begin), 0)
}
