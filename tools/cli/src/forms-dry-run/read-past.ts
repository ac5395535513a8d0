import { decodeRecord, FormFact, TOPICS, UserFact } from '@nextvisit/contracts'
import { createLogReader, type FetchedBatch, type LogConnection, readWatermarks, type Watermarks } from '@nextvisit/log'
import type { ZodType } from 'zod'
import { createProgress } from '../progress.ts'
import type { Simulation } from './simulate-forms.ts'

/** The log's topics; specs have others. */
export type Topics =
  | Pick<typeof TOPICS, 'userEvents' | 'formEvents' | 'catalog'>
  | Readonly<Record<'userEvents' | 'formEvents' | 'catalog', string>>

/** What was read. */
export interface ReadPast {
  readonly records: number
  /** Those that consumers keep as dead letters. */
  readonly unreadable: number
}

/**
 * Gives a simulation everything that is in the log now. The reader has no group, commits nothing and publishes nothing.
 * `form-events` comes first: it says what was in the queues.
 */
export async function readPast(connection: LogConnection, topics: Topics, simulation: Simulation): Promise<ReadPast> {
  const forms = await readWatermarks(connection, topics.formEvents)
  const users = await readWatermarks(connection, topics.userEvents)
  const whole = sizeOf(forms) + sizeOf(users)
  const progress = createProgress()
  const so = { records: 0, unreadable: 0 }
  let passed = 0

  const readTopic = async <Fact>(
    topic: string,
    marks: ReadonlyMap<number, Watermarks>,
    schema: ZodType<Fact>,
    take: (fact: Fact) => void,
  ): Promise<void> => {
    const from = new Map([...marks].map(([partition, { low }]) => [partition, low]))
    const onBatch = ({ records, fetchedFrom, nextOffset }: FetchedBatch): void => {
      for (const { value, headers } of records) {
        const decoded = decodeRecord(schema, value, headers)
        if (decoded.outcome === 'ok') take(decoded.fact)
        else so.unreadable += 1
      }
      so.records += records.length
      passed += Number(nextOffset - fetchedFrom)
      progress.report(passed / whole, so.records)
    }
    await createLogReader(connection).readFrom(topic, from, onBatch, { until: 'end' })
  }

  try {
    await readTopic(topics.formEvents, forms, FormFact, simulation.takeFormFact)
    await readTopic(topics.userEvents, users, UserFact, simulation.takeUserFact)
  } finally {
    progress.end()
  }
  return so
}

function sizeOf(marks: ReadonlyMap<number, Watermarks>): number {
  return [...marks.values()].reduce((sum, { low, high }) => sum + Number(high - low), 0)
}
