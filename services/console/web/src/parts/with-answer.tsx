import type { ReactNode } from 'react'
import { ErrorNote, Loading } from './notes.tsx'

export interface WithAnswerProps<Answer> {
  /** As `useQuery` gives it. */
  readonly query: { readonly data: Answer | undefined; readonly error: Error | null; readonly refetch: () => unknown }
  /** What is loaded, such as `the forms`. */
  readonly what: string
  readonly children: (answer: Answer) => ReactNode
}

/** What a query has answered, also where asking again fails: a note then says so. Before the first answer: that it is loaded. */
export function WithAnswer<Answer>({ query: { data, error, refetch }, what, children }: WithAnswerProps<Answer>) {
  return (
    <>
      {error && <ErrorNote error={error} onRetry={() => void refetch()} />}
      {data === undefined ? !error && <Loading what={what} /> : children(data)}
    </>
  )
}
