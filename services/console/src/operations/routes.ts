import type { DeadLetters } from '../dead-letters/dead-letters.ts'
import { answered, serveApi } from '../http/api-route.ts'
import { operationsApi } from './api.ts'
import type { AskConsumers } from './ask-consumers.ts'
import { consumerOperationsOf } from './consumer-operations.ts'

export interface OperationsRoutesParts {
  readonly askConsumers: AskConsumers
  readonly byCause: DeadLetters['byCause']
  readonly partitionCount: number
}

export function createOperationsRoutes({ askConsumers, byCause, partitionCount }: OperationsRoutesParts) {
  return serveApi(operationsApi, {
    listConsumers: async (_, { role }) => {
      const withMessages = role === 'operator'
      // Counting very many letters takes long. Partitions are shown without the counts.
      const asked = Array.from(await askConsumers(), async ([service, processes]) => {
        const isAnswering = processes.some(({ answer }) => answer !== undefined)
        const deadLetters = isAnswering ? await byCause(service) : undefined
        return consumerOperationsOf({ service, processes, deadLetters, partitionCount, withMessages })
      })
      return answered({ consumers: await Promise.all(asked) })
    },
  })
}
