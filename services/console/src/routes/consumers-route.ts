import { ConsumersAnswer } from '../api/operations.ts'
import { Nothing } from '../api/session.ts'
import { answered, type ApiRoute, apiRoute } from '../http/api-route.ts'
import type { AskConsumers } from '../operations/ask-consumers.ts'
import { consumerOperationsOf } from '../operations/consumer-operations.ts'

/** `GET api/consumers`: partitions with their owners, and dead letters by cause. */
export function createConsumersRoute(askConsumers: AskConsumers, partitionCount: number): ApiRoute {
  return apiRoute({
    method: 'GET',
    path: 'consumers',
    role: 'viewer',
    input: Nothing,
    answer: ConsumersAnswer,
    handle: async (_, { role }) => {
      const withMessages = role === 'operator'
      return answered({
        consumers: Array.from(await askConsumers({}), ([service, processes]) =>
          consumerOperationsOf({ service, processes, partitionCount, withMessages }),
        ),
      })
    },
  })
}
