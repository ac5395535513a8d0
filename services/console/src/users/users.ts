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
import { type LogConnection, partitionForKey } from '@nextvisit/log'
import type { ZodType } from 'zod'
import { answered, type ApiResult } from '../http/api-route.ts'
import { type CallsOf, NOT_FOUND } from '../services.ts'
import type { TimelineAnswer, UserPath } from './api.ts'
import { findRequest, type FoundRequest } from './find-request.ts'
import { type BackwardsReading, readBackwards } from './read-backwards.ts'

export interface UserLog {
  readonly facts: readonly UserFact[]
  readonly formFacts: readonly FormFact[]
  readonly reading: TimelineAnswer['reading']
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

interface UsersParts {
  readonly connection: LogConnection
  readonly projector: CallsOf<'user-projector'>
  readonly evaluator: CallsOf<'form-trigger-evaluator'>
  /** Number of partitions of the topics keyed by user. */
  readonly partitionCount: number
}

const RECORDS_PER_DEPTH = 20_000
const READ_WITHIN_MS = 4_000

export function createUsers({ connection, projector, evaluator, partitionCount }: UsersParts): Users {
  async function readLog({ userId }: UserPath, depth: number): Promise<UserLog> {
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
        records: userEvents.looked + formEvents.looked,
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
      const asked = await evaluator.readTriggerCounts({ ...path, triggers })
      const counts = asked.outcome === 'answered' ? asked.answer.counts : []
      return new Map(triggers.flatMap((trigger, index) => pairOf(trigger, counts[index])))
    },
    readLog,
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
