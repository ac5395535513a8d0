import { INTERNAL_ROUTES, OperationsAnswer } from '@nextvisit/contracts'
import { createInternalClient } from '@nextvisit/service-kit'
import { ConsumersAnswer } from '../api/operations.ts'
import { Nothing } from '../api/session.ts'
import { answered, type ApiRoute, apiRoute } from '../http/api-route.ts'
import type { Target } from '../metrics/sample.ts'
import { consumerOperationsOf, type ProcessOperations } from '../operations/consumer-operations.ts'

export interface ConsumersRouteParts {
  /** The processes of the consumers. */
  readonly targets: readonly Target[]
  readonly token: string
  readonly partitionCount: number
}

const ANSWER_WITHIN_MS = 2_000

/** `GET api/consumers`: partitions with their owners, and dead letters by cause. */
export function createConsumersRoute({ targets, token, partitionCount }: ConsumersRouteParts): ApiRoute {
  const clients = targets.map(({ service, url }) => ({
    service,
    url,
    client: createInternalClient({ baseUrls: [url], token, timeoutMs: ANSWER_WITHIN_MS }),
  }))

  async function ask({
    service,
    url,
    client,
  }: (typeof clients)[number]): Promise<ProcessOperations & { service: string }> {
    const asked = await client.call(INTERNAL_ROUTES.readOperations, {}, OperationsAnswer)
    return { service, url, answer: asked.outcome === 'answered' ? asked.answer : undefined }
  }

  return apiRoute({
    method: 'GET',
    path: 'consumers',
    role: 'viewer',
    input: Nothing,
    answer: ConsumersAnswer,
    handle: async (_, { role }) => {
      const answers = await Promise.all(clients.map(ask))
      const byService = Map.groupBy(answers, ({ service }) => service)
      const withMessages = role === 'operator'
      return answered({
        consumers: Array.from(byService, ([service, processes]) =>
          consumerOperationsOf({ service, processes, partitionCount, withMessages }),
        ),
      })
    },
  })
}
