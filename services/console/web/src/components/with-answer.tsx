import type { ReactNode } from 'react'
import { ErrorNote, Loading } from './notes.tsx'

interface WithAnswerProps<Answer> {
  /** Result of `useQuery`. */
  readonly query: { readonly data: Answer | undefined; readonly error: Error | null; readonly refetch: () => unknown }
  /** Name of the answer while it loads, such as `the forms`. */
  readonly name: string
  readonly children: (answer: Answer) => ReactNode
}

/** Shows the answer of a query. If a reload fails, shows the error above the last answer. */
export function WithAnswer<Answer>({ query: { data, error, refetch }, name, children }: WithAnswerProps<Answer>) {
  return (
    <>
      {error && <ErrorNote error={error} onRetry={() => void refetch()} />}
      {data === undefined ? !error && <Loading name={name} /> : children(data)}
    </>
  )
}
