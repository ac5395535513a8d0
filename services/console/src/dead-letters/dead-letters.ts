import {
  DeadLetterAnswer,
  DeadLettersAnswer,
  DecidedAnswer,
  DecisionAnswer,
  INTERNAL_ROUTES,
  SetAsideAnswer,
  TOPICS,
} from '@nextvisit/contracts'
import { createInternalClient } from '@nextvisit/service-kit'
import type { ZodType } from 'zod'
import type { Decide, LetterPath, SetAsideInput } from '../api/dead-letters.ts'
import { askService } from '../ask-service.ts'
import { type ApiResult, refuse } from '../http/api-route.ts'
import type { Target } from '../metrics/sample.ts'

/** What consumers know of their dead letters, and do with them. */
export interface DeadLetters {
  readonly list: (query: {
    readonly service: string
    readonly causeId: string
    readonly after?: string | undefined
  }) => Promise<ApiResult<DeadLettersAnswer>>
  readonly read: (path: LetterPath, withContent: boolean) => Promise<ApiResult<DeadLetterAnswer>>
  readonly decide: (asked: Decide, by: string) => Promise<ApiResult<DecidedAnswer>>
  readonly follow: (decision: {
    readonly service: string
    readonly decidedAt: string
  }) => Promise<ApiResult<DecisionAnswer>>
  readonly setAside: (place: SetAsideInput, by: string) => Promise<ApiResult<SetAsideAnswer>>
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

  async function ask<Answer>(
    service: string,
    route: string,
    body: object,
    schema: ZodType<Answer>,
  ): Promise<ApiResult<Answer>> {
    const client = clients.get(service)
    return client ? askService(client, service, route, body, schema) : NO_CONSUMER
  }

  return {
    list: ({ service, ...query }) =>
      ask(service, INTERNAL_ROUTES.listDeadLetters, { ...query, limit: LETTERS_PER_PAGE }, DeadLettersAnswer),
    read: ({ service, id }, withContent) =>
      ask(service, INTERNAL_ROUTES.readDeadLetter, { id, withContent }, DeadLetterAnswer),
    decide: ({ service, ...asked }, by) =>
      ask(service, INTERNAL_ROUTES.decideDeadLetters, { ...asked, by }, DecidedAnswer),
    follow: ({ service, decidedAt }) => ask(service, INTERNAL_ROUTES.readDecision, { decidedAt }, DecisionAnswer),
    setAside: ({ service, ...place }, by) =>
      ask(service, INTERNAL_ROUTES.setAside, { ...place, topic: TOPICS.userEvents, by }, SetAsideAnswer),
  }
}
