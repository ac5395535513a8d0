import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import type { ReplayAnswer, StartReplay } from '../../../src/api/replay.ts'
import { getFrom, postTo } from '../app/call-api.ts'
import { askAgainAfterMs } from '../parts/command-run.tsx'

const REPLAY = ['replay']

export function useReplay() {
  return useQuery({
    queryKey: REPLAY,
    queryFn: () => getFrom<ReplayAnswer>('replay'),
    refetchInterval: ({ state }) => askAgainAfterMs(state.data?.run),
  })
}

export function useStartReplay() {
  const client = useQueryClient()
  return useMutation({
    mutationFn: (asked: StartReplay) => postTo('replay/start', asked),
    onSettled: () => client.invalidateQueries({ queryKey: REPLAY }),
  })
}

export function useStopReplay() {
  const client = useQueryClient()
  return useMutation({
    mutationFn: () => postTo('replay/stop'),
    onSettled: () => client.invalidateQueries({ queryKey: REPLAY }),
  })
}
