import type { Dependencies } from '../dependencies.ts'
import { answered, serveApi } from '../http/api-route.ts'
import { createSharedRead } from '../shared-read.ts'
import { operationsApi } from './api.ts'
import { readOperations, consumerOperationsOf } from './consumer-operations.ts'

export function createOperationsRoutes({
  consumers,
  processes,
  partitionCount,
}: Pick<Dependencies, 'consumers' | 'processes' | 'partitionCount'>) {
  // Counting very many dead letters takes long, so readers share it.
  const readCauses = new Map(
    Array.from(consumers, ([service, calls]) => [service, createSharedRead(() => calls.readCauses({}))]),
  )

  return serveApi(operationsApi, {
    listConsumers: async (_, { role }, signal) => {
      const withMessages = role === 'operator'
      const operations = Array.from(await readOperations(await processes(), signal), async ([service, answers]) => {
        const isAnswering = answers.some(({ answer }) => answer !== undefined)
        const causes = isAnswering ? await readCauses.get(service)?.() : undefined
        // Partitions are shown without the causes, if those were not counted in time.
        const deadLetters = causes?.outcome === 'answered' ? causes.answer.groups : undefined
        return consumerOperationsOf({ service, processes: answers, deadLetters, partitionCount, withMessages })
      })
      return answered({ consumers: await Promise.all(operations) })
    },
  })
}
