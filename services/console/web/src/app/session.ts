import { QueryCache, QueryClient, useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { ApiError, callApi } from './call-api.ts'

const SESSION = ['session']
const HAS_ENDED = ['session', 'has ended']

/** Whoever is signed out sees the sign-in page at once, whatever they were looking at. */
export function createQueries(): QueryClient {
  const client: QueryClient = new QueryClient({
    queryCache: new QueryCache({
      onError: (error) => {
        if (!(error instanceof ApiError) || error.code !== 'signed-out') return
        client.setQueryData(SESSION, null)
        client.setQueryData(HAS_ENDED, true)
      },
    }),
    defaultOptions: {
      queries: {
        // Whoever has waited for an answer in vain should hear of it, and not wait again.
        retry: (count, error) => count < 2 && (!(error instanceof ApiError) || error.code === 'unreachable'),
        refetchOnWindowFocus: false,
      },
    },
  })
  // Nothing observes it, and an unobserved entry is dropped after five minutes.
  client.setQueryDefaults(HAS_ENDED, { gcTime: Infinity })
  return client
}

/** null: nobody is signed in. */
export function useSession() {
  return useQuery({
    queryKey: SESSION,
    staleTime: 60_000,
    // The demo may be loaded, or the catalog readable, only later.
    refetchInterval: ({ state }) => (state.data && !state.data.canTry ? 15_000 : false),
    queryFn: () => callApi('readSession', {}),
  })
}

/** Whether somebody was signed out who did not ask for it. */
export function useHasSessionEnded(): boolean {
  return useQueryClient().getQueryData<boolean>(HAS_ENDED) ?? false
}

/** Whether the one who is signed in may change something. */
export function useIsOperator(): boolean {
  return useSession().data?.role === 'operator'
}

export function useSignIn() {
  const client = useQueryClient()
  return useMutation({
    mutationFn: (given: { readonly token: string; readonly name: string }) => callApi('signIn', given),
    onSuccess: (session) => client.setQueryData(SESSION, session),
  })
}

export function useSignOut() {
  const client = useQueryClient()
  return useMutation({
    mutationFn: () => callApi('signOut', {}),
    onSettled: () => {
      client.setQueryData(SESSION, null)
      client.setQueryData(HAS_ENDED, false)
      // Whoever signs in next sees nothing that was loaded for somebody else.
      client.removeQueries({ predicate: ({ queryKey }) => queryKey[0] !== SESSION[0] })
    },
  })
}
