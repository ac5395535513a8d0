import {
  decodeRecord,
  FormFact,
  FormsReadModel,
  INTERNAL_ROUTES,
  TOPICS,
  UserFact,
  UserReadModel,
} from '@nextvisit/contracts'
import { type LogConnection, partitionForKey } from '@nextvisit/log'
import { createInternalClient, type InternalClient } from '@nextvisit/service-kit'
import type { ZodType } from 'zod'
import type { TimelineAnswer, UserPath } from '../api/users.ts'
import { type ApiRefusal, refuse } from '../http/api-route.ts'
import { findRequest } from './find-request.ts'
import { type BackwardsReading, readBackwards } from './read-backwards.ts'

/** `model` is undefined where nobody has identified the user. */
export type ReadPart<Model> = { readonly outcome: 'read'; readonly model: Model | undefined } | ApiRefusal

export interface UserLog {
  readonly facts: readonly UserFact[]
  readonly formFacts: readonly FormFact[]
  readonly reading: TimelineAnswer['reading']
}

/** What the services and the log know of a user. */
export interface Users {
  readonly readUser: (path: UserPath) => Promise<ReadPart<UserReadModel>>
  readonly readForms: (path: UserPath) => Promise<ReadPart<FormsReadModel>>
  /** The user's part of the log, read backwards. Rejects while the log is unavailable. */
  readonly readLog: (path: UserPath, depth: number) => Promise<UserLog>
  /** Rejects while the log is unavailable. */
  readonly findRequest: (
    requestId: string,
  ) => Promise<{ readonly outcome: 'found'; readonly fact: UserFact } | { readonly outcome: 'missing' }>
}

export interface UsersParts {
  readonly connection: LogConnection
  readonly services: {
    readonly 'user-projector': readonly string[]
    readonly 'form-trigger-evaluator': readonly string[]
  }
  readonly token: string
  /** Over how many partitions keys are spread. */
  readonly partitionCount: number
}

const ANSWER_WITHIN_MS = 3_000
const RECORDS_PER_DEPTH = 20_000
const READ_WITHIN_MS = 4_000

export function createUsers({ connection, services, token, partitionCount }: UsersParts): Users {
  const clientOf = (service: keyof UsersParts['services']) =>
    createInternalClient({ baseUrls: services[service], token, timeoutMs: ANSWER_WITHIN_MS })
  const [projector, evaluator] = [clientOf('user-projector'), clientOf('form-trigger-evaluator')]

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
    readUser: (path) => readModel(projector, 'user-projector', INTERNAL_ROUTES.readUser, path, UserReadModel),
    readForms: (path) =>
      readModel(evaluator, 'form-trigger-evaluator', INTERNAL_ROUTES.readForms, path, FormsReadModel),
    readLog,
    findRequest: async (requestId) => {
      const fact = await findRequest(connection, requestId)
      return fact ? { outcome: 'found', fact } : { outcome: 'missing' }
    },
  }
}

async function readModel<Model>(
  client: InternalClient,
  service: string,
  route: string,
  path: UserPath,
  schema: ZodType<Model>,
): Promise<ReadPart<Model>> {
  const asked = await client.call(route, path, schema)
  if (asked.outcome === 'answered') return { outcome: 'read', model: asked.answer }
  if (asked.outcome === 'not-found') return { outcome: 'read', model: undefined }
  if (asked.outcome === 'behind')
    return refuse(503, 'behind', `${service} is behind the log. Try again; the Overview says how far.`)
  return refuse(503, 'no-answer', `${service} does not answer. The Overview says what to do.`)
}

/** What cannot be read is a dead letter of each consumer, and no entry here. */
function factsIn<Fact>({ records }: BackwardsReading, schema: ZodType<Fact>): readonly Fact[] {
  return records.flatMap(({ value, headers }) => {
    const decoded = decodeRecord(schema, value, headers)
    return decoded.outcome === 'ok' ? [decoded.fact] : []
  })
}
