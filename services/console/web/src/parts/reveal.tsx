import { useMutation, useQueryClient } from '@tanstack/react-query'
import { postTo } from '../app/call-api.ts'
import { ErrorNote } from './notes.tsx'

/** A viewer asks for the personal data behind an address of the API; the log says who did. */
export function Reveal({ path }: { readonly path: string }) {
  const client = useQueryClient()
  const reveal = useMutation({
    mutationFn: () => postTo(`${path}/reveal`),
    onSuccess: () => client.invalidateQueries({ predicate: ({ queryKey }) => String(queryKey[0]).startsWith(path) }),
  })
  return (
    <div className="reveal">
      <button type="button" onClick={() => reveal.mutate()} disabled={reveal.isPending}>
        Show personal data
      </button>
      <small className="quiet">Values are masked. That you look is logged.</small>
      {reveal.error && <ErrorNote error={reveal.error} />}
    </div>
  )
}
