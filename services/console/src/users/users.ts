import {
  decodeRecord,
  FormFact,
  type FormsReadModel,
  MAX_COUNTED_TRIGGERS,
  TOPICS,
  type Trigger,
  UserFact,
  type UserReadModel,
} from '@nextvisit/contracts'
import { readLog, type FetchedRecord, partitionForKey, withLogAdmin } from '@nextvisit/log'
import type { ZodType } from 'zod'
import type { Answer } from '../api-routes.ts'
import type { Dependencies } from '../dependencies.ts'
import { answered, type ApiResult } from '../http/api-route.ts'
import { NOT_FOUND } from '../services.ts'
import type { UserPath } from './api.ts'
import { findRequest, type FoundRequest } from './find-request.ts'

export interface UserLog {
  readonly facts: readonly UserFact[]
  readonly formFacts: readonly FormFact[]
  readonly reading: Answer<'readTimeline'>['reading']
}

/** Data of users from the services and the log. An answer is undefined if the user was never identified. */
export interface Users {
  readonly readUser: (path: UserPath) => Promise<ApiResult<UserReadModel | undefined>>
  readonly readForms: (path: UserPath) => Promise<ApiResult<FormsReadModel | undefined>>
  /** Reads how often the counted event of each trigger has happened, for the first 1,000 triggers. Unknown counts are missing. */
  readonly readTriggerCounts: (path: UserPath, triggers: readonly Trigger[]) => Promise<ReadonlyMap<Trigger, number>>
  /** Reads the user's part of the log backwards. Rejects while the log is unavailable. */
  readonly readLog: (path: UserPath, depth: number) => Promise<UserLog>
  /** Rejects while the log is unavailable. */
  readonly findRequest: (requestId: string) => Promise<FoundRequest>
}

const RECORDS_PER_DEPTH = 20_000
const READ_WITHIN_MS = 4_000

export function createUsers({
  connection,
  projector,
  evaluator,
  partitionCount,
}: Pick<Dependencies, 'connection' | 'projector' | 'evaluator' | 'partitionCount'>): Users {
  async function readUserLog({ userId }: UserPath, depth: number): Promise<UserLog> {
    const partition = partitionForKey(userId, partitionCount)
    const read = (topic: string) =>
      readBackwards(connection, {
        topic,
        partition,
        isWanted: ({ key }) => key?.toString() === userId,
        maxRecords: RECORDS_PER_DEPTH * depth,
        withinMs: READ_WITHIN_MS,
      })
    const [userEvents, formEvents] = await Promise.all([read(TOPICS.userEvents), read(TOPICS.formEvents)])
    const cut = [userEvents, formEvents].filter(({ stopped }) => stopped !== 'beginning')
    const sinceMs = Math.max(...cut.map(({ sinceMs: since = 0 }) => since))
    return {
      facts: factsIn(userEvents, UserFact),
      formFacts: factsIn(formEvents, FormFact),
      reading: {
        partition,
        records: userEvents.readCount + formEvents.readCount,
        stopped: cut[0]?.stopped ?? 'beginning',
        since: cut.length === 0 ? null : new Date(sinceMs).toISOString(),
      },
    }
  }

  return {
    readUser: async (path) => orUndefined(await projector.readUser(path)),
    readForms: async (path) => orUndefined(await evaluator.readForms(path)),
    readTriggerCounts: async (path, all) => {
      const triggers = all.slice(0, MAX_COUNTED_TRIGGERS)
      if (triggers.length === 0) return new Map()
      const result = await evaluator.readTriggerCounts({ ...path, triggers })
      const counts = result.outcome === 'answered' ? result.answer.counts : []
      return new Map(triggers.flatMap((trigger, index) => pairOf(trigger, counts[index])))
    },
    readLog: readUserLog,
    findRequest: (requestId) => findRequest(connection, requestId),
  }
}

function orUndefined<Model>(result: ApiResult<Model>): ApiResult<Model | undefined> {
  return result.outcome === 'refused' && result.error === NOT_FOUND ? answered(undefined) : result
}

function pairOf(trigger: Trigger, count: number | null | undefined): [Trigger, number][] {
  return typeof count === 'number' ? [[trigger, count]] : []
}

/** Decodes records. Unreadable ones are dead letters of each consumer, and are skipped here. */
function factsIn<Fact>({ records }: BackwardsReading, schema: ZodType<Fact>): readonly Fact[] {
  return records.flatMap(({ value, headers }) => {
    const decoded = decodeRecord(schema, value, headers)
    return decoded.outcome === 'ok' ? [decoded.fact] : []
  })
}

interface BackwardsReading {
  /** Matching records, oldest first. */
  readonly records: readonly FetchedRecord[]
  /** Number of records read. */
  readonly readCount: number
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
async function readBackwards(
  connection: Dependencies['connection'],
  options: BackwardsOptions,
): Promise<BackwardsReading> {
  const { topic, partition, isWanted, maxRecords, withinMs } = options
  const until = performance.now() + withinMs
  const marks = (await withLogAdmin(connection, (admin) => admin.watermarks(topic))).get(partition)
  const { low, high } = marks ?? { low: 0n, high: 0n }
  const bound = high - BigInt(maxRecords) > low ? high - BigInt(maxRecords) : low
  const steps: FetchedRecord[][] = []
  let [end, step, readCount] = [high, FIRST_STEP, 0]
  let sinceMs: number | undefined
  while (end > bound) {
    if (performance.now() > until) return { records: steps.flat(), readCount, stopped: 'time', sinceMs }
    const begin = end - BigInt(step) > bound ? end - BigInt(step) : bound
    const wanted: FetchedRecord[] = []
    let oldestMs: number | undefined
    const onBatch = ({ records }: { readonly records: readonly FetchedRecord[] }): void => {
      readCount += records.length
      oldestMs ??= records[0]?.timestampMs
      wanted.push(...records.filter(isWanted))
    }
    await readLog(connection, {
      topic,
      from: new Map([[partition, begin]]),
      onBatch,
      until: new Map([[partition, end]]),
      giveUpAfterMs: GIVE_UP_AFTER_MS,
    })
    steps.unshift(wanted)
    sinceMs = oldestMs ?? sinceMs
    ;[end, step] = [begin, step * GROWTH]
  }
  return { records: steps.flat(), readCount, stopped: bound === low ? 'beginning' : 'records', sinceMs }
}
