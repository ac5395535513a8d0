import {
  type Decoded,
  decodeRecord,
  type DryRunOutcome,
  SealedFormFact,
  openFact,
  SealedUserFact,
  type UserFact,
} from '@nextvisit/contracts'
import {
  readLog,
  type FetchedBatch,
  type FetchedRecord,
  type LogConnection,
  readWatermarks,
  type Watermarks,
} from '@nextvisit/log'
import type { EnvironmentVariables } from '@nextvisit/service-kit'
import { readUserKeys } from '@nextvisit/user-keys'
import type { Progress } from '../output/progress.ts'
import { type Fences, readFences, type RecordTopics } from '../shown-records/fences.ts'
import { createUserKeyOpener, type UserKeyOpener } from '../shown-records/user-key-opener.ts'
import type { Simulation } from './simulate-forms.ts'

/** Topics of the log; specs use their own. */
export type Topics = RecordTopics & { readonly catalog: string }

interface ReadPastOptions {
  readonly connection: LogConnection
  readonly topics: Topics
  /** With NEXTVISIT_SECRET_KEY, which opens sealed records. */
  readonly env: EnvironmentVariables
  readonly simulation: Simulation
  /** Approximate number of the newest records of each topic to read, evenly from all partitions; undefined: all. */
  readonly maxRecords: number | undefined
  readonly progress: Progress
}

/**
 * Feeds a simulation with the current records of the log, opened, and without those that an erasure covers. The reader has no group, and
 * commits and publishes nothing. `form-events` comes first, because it has the contents of the queues.
 */
export async function readPast(
  options: ReadPastOptions,
): Promise<Pick<DryRunOutcome, 'records' | 'unreadable' | 'since'>> {
  const { connection, topics, env, simulation, maxRecords, progress } = options
  const forms = partsOf(await readWatermarks(connection, topics.formEvents), maxRecords)
  const users = partsOf(await readWatermarks(connection, topics.userEvents), maxRecords)
  const whole = sizeOf(forms) + sizeOf(users)
  const counts = { records: 0, unreadable: 0 }
  let [passed, sinceMs] = [0, 0]

  const readTopic = async <Fact>(
    topic: string,
    parts: ReadonlyMap<number, Part>,
    decode: (record: FetchedRecord) => Read<Fact>,
    take: (fact: Fact) => void,
  ): Promise<void> => {
    const from = new Map(Array.from(parts, ([partition, { begin }]) => [partition, begin]))
    const cut = new Set([...parts.keys()].filter((partition) => parts.get(partition)?.isCut))
    const onBatch = ({ partition, records, fetchedFrom, nextOffset }: FetchedBatch): void => {
      const [first] = records
      if (first && cut.delete(partition)) sinceMs = Math.max(sinceMs, first.timestampMs)
      for (const record of records) {
        const read = decode(record)
        if (read.outcome === 'ok') take(read.fact)
        else if (read.outcome === 'rejected') counts.unreadable += 1
      }
      counts.records += records.length
      passed += Number(nextOffset - fetchedFrom)
      progress.report(passed / whole, counts.records)
    }
    await readLog(connection, { topic, from, onBatch, until: 'end', withStandIns: true })
  }

  try {
    const fences = await readFences({ connection, topics, of: 'userEvents' })
    const keys = await readKeysFor(users, options)
    const opener = createUserKeyOpener(keys, env)
    await readTopic(topics.formEvents, forms, (record) => readFormFact(record, fences), simulation.takeFormFact)
    await readTopic(topics.userEvents, users, (record) => readUserFact(record, fences, opener), simulation.takeUserFact)
  } finally {
    progress.end()
  }
  return { ...counts, since: sinceMs === 0 ? null : new Date(sinceMs).toISOString() }
}

/** `erased`: an erasure covers the record, or has destroyed its key. */
type Read<Fact> = Decoded<Fact> | { readonly outcome: 'erased' }
const ERASED = { outcome: 'erased' } as const

/** A row of the queue is erased if its cause is before the fence, wherever the outbox has published its facts. */
function readFormFact({ value, headers }: FetchedRecord, fences: Fences): Read<SealedFormFact> {
  const decoded = decodeRecord(SealedFormFact, value, headers)
  if (decoded.outcome === 'rejected') return decoded
  // The log may have a second copy, which ends no queue.
  if (decoded.fact.type === 'QueueErased') return ERASED
  if (decoded.fact.type !== 'FormQueued') return decoded
  const { userId, causeOffset = -1 } = decoded.fact
  const fence = fences.ofUser(userId)
  return fence && BigInt(causeOffset) < fence.offset ? ERASED : decoded
}

/** An event whose key is destroyed keeps its clear members, as in the consumers. */
function readUserFact(record: FetchedRecord, fences: Fences, { keyOf }: UserKeyOpener): Read<UserFact> {
  const decoded = decodeRecord(SealedUserFact, record.value, record.headers)
  if (fences.isErased(record, factOf(decoded))) return ERASED
  if (decoded.outcome === 'rejected') return decoded
  const { fact } = decoded
  if (!('sealed' in fact) || !fact.sealed) return openFact(fact, () => undefined)
  const key = keyOf(fact.userId, fact.sealed.key)
  if (key) return openFact(fact, key.open)
  const { sealed: _, ...clear } = fact
  return fact.type === 'EventTracked' ? { outcome: 'ok', fact: clear as UserFact } : ERASED
}

function factOf<Fact>(decoded: Decoded<Fact>): Fact | undefined {
  return decoded.outcome === 'ok' ? decoded.fact : undefined
}

/** Reads the keys of all users, or of the users with records in the parts if these are cut: then memory is bounded by them. */
async function readKeysFor(
  parts: ReadonlyMap<number, Part>,
  { connection, topics, maxRecords }: Pick<ReadPastOptions, 'connection' | 'topics' | 'maxRecords'>,
) {
  if (maxRecords === undefined) return readUserKeys(connection, { topic: topics.userKeys })
  const users = new Set<string>()
  await readLog(connection, {
    topic: topics.userEvents,
    from: new Map(Array.from(parts, ([partition, { begin }]) => [partition, begin])),
    until: 'end',
    onBatch: ({ records }) => records.forEach(({ key }) => void users.add(String(key))),
    withStandIns: true,
  })
  return readUserKeys(connection, { topic: topics.userKeys, isWanted: (userId) => users.has(userId) })
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
