import { QueryCache, QueryClient, useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { ApiError, callApi } from './api.ts'

const SESSION = ['session']
const HAS_ENDED = ['session', 'has ended']

/** Creates the query client. When a session ends, the sign-in page appears immediately. */
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
        // After a timeout the reader should see the error, not wait again.
        retry: (count, error) => count < 2 && (!(error instanceof ApiError) || error.code === 'unreachable'),
        refetchOnWindowFocus: false,
      },
    },
  })
  // Nothing observes this entry, and by default it would be dropped after five minutes.
  client.setQueryDefaults(HAS_ENDED, { gcTime: Infinity })
  return client
}

/** The session; null: signed out. */
export function useSession() {
  return useQuery({
    queryKey: SESSION,
    staleTime: 60_000,
    // The demo may be loaded later, or the catalog readable later.
    refetchInterval: ({ state }) => (state.data && !state.data.canTry ? 15_000 : false),
    queryFn: () => callApi('readSession', {}),
  })
}

/** Returns true if the session ended without a sign-out. */
export function useHasSessionEnded(): boolean {
  return useQueryClient().getQueryData<boolean>(HAS_ENDED) ?? false
}

/** Returns true if the session may make changes. */
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
    onSuccess: ({ leaveTo }) => {
      client.setQueryData(SESSION, null)
      client.setQueryData(HAS_ENDED, false)
      // The next session must not see data that was loaded for this one.
      client.removeQueries({ predicate: ({ queryKey }) => queryKey[0] !== SESSION[0] })
      if (leaveTo !== null) location.assign(leaveTo)
    },
  })
}
