import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import type { SimulationAnswer, StartSimulation } from '../../../src/api/simulation.ts'
import { getFrom, postTo } from '../app/call-api.ts'
import { askAgainAfterMs } from '../parts/command-run.tsx'

const SIMULATION = ['simulation']

export function useSimulation() {
  return useQuery({
    queryKey: SIMULATION,
    queryFn: () => getFrom<SimulationAnswer>('simulation'),
    refetchInterval: ({ state }) => askAgainAfterMs(state.data?.run),
  })
}

export function useStartSimulation() {
  const client = useQueryClient()
  return useMutation({
    mutationFn: (asked: StartSimulation) => postTo('simulation/start', asked),
    onSettled: () => client.invalidateQueries({ queryKey: SIMULATION }),
  })
}

export function useStopSimulation() {
  const client = useQueryClient()
  return useMutation({
    mutationFn: () => postTo('simulation/stop'),
    onSettled: () => client.invalidateQueries({ queryKey: SIMULATION }),
  })
}
