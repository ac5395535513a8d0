import type { DeadLetters } from '../dead-letters/dead-letters.ts'
import { answered, type ApiRoute, apiRoute } from '../http/api-route.ts'
import { Nothing } from '../session/api.ts'
import { ConsumersAnswer } from './api.ts'
import type { AskConsumers } from './ask-consumers.ts'
import { consumerOperationsOf } from './consumer-operations.ts'

/** `GET api/consumers`: partitions with their owners, and dead letters by cause. */
export function createConsumersRoute(
  { askConsumers, byCause }: { readonly askConsumers: AskConsumers } & Pick<DeadLetters, 'byCause'>,
  partitionCount: number,
): ApiRoute {
  return apiRoute({
    method: 'GET',
    path: 'consumers',
    role: 'viewer',
    input: Nothing,
    answer: ConsumersAnswer,
    handle: async (_, { role }) => {
      const withMessages = role === 'operator'
      // To count very many letters takes long: one process is asked for those of its service, and partitions are shown without them.
      const asked = Array.from(await askConsumers(), async ([service, processes]) => {
        const isAnswering = processes.some(({ answer }) => answer !== undefined)
        const deadLetters = isAnswering ? await byCause(service) : undefined
        return consumerOperationsOf({ service, processes, deadLetters, partitionCount, withMessages })
      })
      return answered({ consumers: await Promise.all(asked) })
    },
  })
}
