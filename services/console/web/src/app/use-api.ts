import { useMutation, useQueryClient } from '@tanstack/react-query'
import type { ApiName, Input } from '../../../src/api-routes.ts'
import { callApi } from './call-api.ts'

/** Options of `useQuery` for a route. Its answers are cached by name and input. */
export function apiQuery<Name extends ApiName>(name: Name, input: Input<Name>, withinMs?: number) {
  return { queryKey: [name, input] as const, queryFn: () => callApi(name, input, withinMs) }
}

/** Calls a route that changes something, then reloads the answers of the routes that show it. */
export function useChange<Name extends ApiName>(name: Name, ...shownBy: readonly ApiName[]) {
  const client = useQueryClient()
  return useMutation({
    mutationFn: (input: Input<Name>) => callApi(name, input),
    onSettled: () => Promise.all(shownBy.map((shown) => client.invalidateQueries({ queryKey: [shown] }))),
  })
}
