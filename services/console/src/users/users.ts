import {
  type FormsReadModel,
  MAX_COUNTED_TRIGGERS,
  type Trigger,
  type UserFence,
  type UserKeys,
  type UserReadModel,
  type UserRef,
} from '@nextvisit/contracts'
import { progressByTrigger, type TriggerProgress } from '@nextvisit/domain'
import type { Dependencies } from '../dependencies.ts'
import { answered, type ApiResult } from '../http/api-route.ts'
import { noAnswerOf, NOT_FOUND } from '../services.ts'
import type { UserPath } from './api.ts'
import { findRequest, type FoundRequest } from './find-request.ts'
import { createRecordOpener } from './open-records.ts'
import { readUserLog, type UserLog, type UserLogQuery } from './read-user-log.ts'

/** Data of users from the services and the log. An answer is undefined if the user was never identified. */
export interface Users {
  readonly readUser: (path: UserPath, signal: AbortSignal) => Promise<ApiResult<UserReadModel | undefined>>
  /** Reads the last erasure of a user; undefined: none, or the user projector does not answer. */
  readonly readFence: (path: UserPath, signal: AbortSignal) => Promise<UserFence | undefined>
  readonly readForms: (path: UserPath, signal: AbortSignal) => Promise<ApiResult<FormsReadModel | undefined>>
  /** Reads the user's progress with the first 1,000 triggers. Unknown progress is missing. */
  readonly readTriggerProgress: (
    path: UserPath,
    triggers: readonly Trigger[],
    signal: AbortSignal,
  ) => Promise<ReadonlyMap<Trigger, TriggerProgress>>
  /** Reads the user's part of the log backwards. Rejects while the log is unavailable. */
  readonly readLog: (query: Omit<UserLogQuery, 'opener'>) => Promise<UserLog>
  /** Rejects while the log is unavailable. */
  readonly findRequest: (requestId: string, signal: AbortSignal) => Promise<FoundRequest>
}

export function createUsers({
  projector,
  evaluator,
  ...parts
}: Pick<Dependencies, 'connection' | 'projector' | 'evaluator' | 'partitionCount' | 'nowMs' | 'keyRing'>): Users {
  async function readKeys(
    { organization, project, userId }: UserRef,
    signal: AbortSignal,
  ): Promise<ApiResult<UserKeys>> {
    const read = await projector.readUserKeys({ organization, project, userIds: [userId] }, signal)
    if (read.outcome === 'refused') return read
    const [keys] = read.answer.users
    return keys ? answered(keys) : noAnswerOf('user-projector')
  }

  return {
    readUser: async (path, signal) => orUndefined(await projector.readUser(path, signal)),
    readForms: async (path, signal) => orUndefined(await evaluator.readForms(path, signal)),
    readTriggerProgress: async (path, all, signal) => {
      const triggers = all.slice(0, MAX_COUNTED_TRIGGERS)
      if (triggers.length === 0) return new Map()
      const result = await evaluator.readTriggerCounts({ ...path, triggers }, signal)
      return result.outcome === 'answered' ? progressByTrigger(triggers, result.answer) : new Map()
    },
    readFence: async ({ organization, project, userId }, signal) => {
      const read = await projector.readUserNames({ questions: [{ organization, project, userId }] }, signal)
      return read.outcome === 'answered' ? read.answer.answers[0]?.fence : undefined
    },
    readLog: async (query) => {
      const keys = await readKeys(query.user, query.signal)
      return readUserLog(parts, { ...query, opener: createRecordOpener({ ...parts, keys }, query.user) })
    },
    findRequest: (requestId, signal) => findRequest(parts.connection, requestId, { signal }),
  }
}

function orUndefined<Model>(result: ApiResult<Model>): ApiResult<Model | undefined> {
  return result.outcome === 'refused' && result.error === NOT_FOUND ? answered(undefined) : result
}
