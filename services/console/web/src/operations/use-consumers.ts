import { useQuery } from '@tanstack/react-query'
import { apiQuery } from '../app/api.ts'

const RELOAD_AFTER_MS = 5_000

/** Partitions, alarms and dead letters of every consumer. */
export function useConsumers() {
  return useQuery({ ...apiQuery('listConsumers', {}), refetchInterval: RELOAD_AFTER_MS })
}
