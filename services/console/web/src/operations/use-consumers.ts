import { useQuery } from '@tanstack/react-query'
import type { ConsumersAnswer } from '../../../src/operations/api.ts'
import { getFrom } from '../app/call-api.ts'

const AGAIN_AFTER_MS = 5_000
/** To read them again after a change. */
export const CONSUMERS = ['consumers']

/** Partitions, alarms and dead letters of every consumer. */
export function useConsumers() {
  return useQuery({
    queryKey: CONSUMERS,
    queryFn: () => getFrom<ConsumersAnswer>('consumers'),
    refetchInterval: AGAIN_AFTER_MS,
  })
}
