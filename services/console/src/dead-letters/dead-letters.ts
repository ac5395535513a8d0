import {
  DeadLetterAnswer,
  DeadLetterAtAnswer,
  DeadLetterCausesAnswer,
  type DeadLetterGroup,
  DeadLettersAnswer,
  DecidedAnswer,
  DecidedLettersAnswer,
  type DecidedPosition,
  DecisionAnswer,
  INTERNAL_ROUTES,
  type RecordPlace,
  SetAsideAnswer,
  TOPICS,
} from '@nextvisit/contracts'
import { createInternalClient } from '@nextvisit/service-kit'
import type { z, ZodType } from 'zod'
import { askService } from '../ask-service.ts'
import { type ApiResult, refuse } from '../http/api-route.ts'
import type { Target } from '../metrics/sample.ts'
import { createSharedRead } from '../shared-read.ts'
import type { deadLettersApi, Decide, LetterPath, LettersOfRecord } from './api.ts'

/** What consumers know of their dead letters, and do with them. */
export interface DeadLetters {
  /** Those of a consumer by cause; undefined: it did not answer in time. Whoever asks meanwhile shares the answer. */
  readonly byCause: (service: string) => Promise<readonly DeadLetterGroup[] | undefined>
  readonly list: (query: {
    readonly service: string
    readonly causeId: string
    readonly after?: string | undefined
  }) => Promise<ApiResult<DeadLettersAnswer>>
  readonly read: (path: LetterPath, withContent: boolean) => Promise<ApiResult<DeadLetterAnswer>>
  /** What every consumer made of one record. */
  readonly readAt: (place: RecordPlace) => Promise<LettersOfRecord>
  readonly listDecided: (
    service: string,
    after: DecidedPosition | undefined,
  ) => Promise<ApiResult<DecidedLettersAnswer>>
  readonly decide: (asked: Decide, by: string) => Promise<ApiResult<DecidedAnswer>>
  readonly follow: (decision: {
    readonly service: string
    readonly decidedAt: string
  }) => Promise<ApiResult<DecisionAnswer>>
  readonly setAside: (
    place: z.output<typeof deadLettersApi.setRecordAside.input>,
    by: string,
  ) => Promise<ApiResult<SetAsideAnswer>>
}

export interface DeadLettersParts {
  /** The processes of the consumers. */
  readonly targets: readonly Target[]
  readonly token: string
}

const ANSWER_WITHIN_MS = 5_000
const LETTERS_PER_PAGE = 50
const NO_CONSUMER = refuse(404, 'no-such-consumer', 'There is no such consumer. Operations names them.')

/** Asks whichever process of the consumer answers: each knows the letters of the whole service. */
export function createDeadLetters({ targets, token }: DeadLettersParts): DeadLetters {
  const clients = new Map(
    Array.from(
      Map.groupBy(targets, ({ service }) => service),
      ([service, processes]) => {
        const baseUrls = processes.map(({ url }) => url)
        return [service, createInternalClient({ baseUrls, token, timeoutMs: ANSWER_WITHIN_MS })]
      },
    ),
  )

  const causes = new Map(
    Array.from(clients, ([service, client]) => {
      const read = async () => {
        const asked = await client.call(INTERNAL_ROUTES.readDeadLetterCauses, {}, DeadLetterCausesAnswer)
        return asked.outcome === 'answered' ? asked.answer.groups : undefined
      }
      return [service, createSharedRead(read)]
    }),
  )

  async function ask<Answer>(
    service: string,
    route: string,
    body: object,
    schema: ZodType<Answer>,
  ): Promise<ApiResult<Answer>> {
    const client = clients.get(service)
    return client ? askService(client, service, route, body, schema) : NO_CONSUMER
  }

  async function readAt(place: RecordPlace): Promise<LettersOfRecord> {
    const consumers = Array.from(clients, async ([service, client]) => {
      const asked = await client.call(INTERNAL_ROUTES.readDeadLetterAt, place, DeadLetterAtAnswer)
      return asked.outcome === 'answered'
        ? { service, isAnswering: true, letter: asked.answer.letter }
        : { service, isAnswering: false, letter: null }
    })
    return { consumers: await Promise.all(consumers) }
  }

  return {
    byCause: async (service) => causes.get(service)?.(),
    list: ({ service, ...query }) =>
      ask(service, INTERNAL_ROUTES.listDeadLetters, { ...query, limit: LETTERS_PER_PAGE }, DeadLettersAnswer),
    read: ({ service, id }, withContent) =>
      ask(service, INTERNAL_ROUTES.readDeadLetter, { id, content: withContent ? 'bounded' : 'none' }, DeadLetterAnswer),
    readAt,
    listDecided: (service, after) =>
      ask(service, INTERNAL_ROUTES.listDecidedLetters, { after, limit: LETTERS_PER_PAGE }, DecidedLettersAnswer),
    decide: ({ service, ...asked }, by) =>
      ask(service, INTERNAL_ROUTES.decideDeadLetters, { ...asked, by }, DecidedAnswer),
    follow: ({ service, decidedAt }) => ask(service, INTERNAL_ROUTES.readDecision, { decidedAt }, DecisionAnswer),
    setAside: ({ service, ...place }, by) =>
      ask(service, INTERNAL_ROUTES.setAside, { ...place, topic: TOPICS.userEvents, by }, SetAsideAnswer),
  }
}
