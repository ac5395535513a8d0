import { useMutation, useQueryClient } from '@tanstack/react-query'
import { postTo } from '../app/call-api.ts'
import { ErrorNote } from './notes.tsx'

export interface RevealProps {
  readonly path: string
  /** Of the button. */
  readonly label?: string
  /** What is hidden; empty where the page says so beside it. */
  readonly note?: string
}

/** A viewer asks for the personal data behind an address of the API; the log says who did. */
export function Reveal({ path, label = 'Show personal data', note = 'Values are masked. ' }: RevealProps) {
  const client = useQueryClient()
  const reveal = useMutation({
    mutationFn: () => postTo(`${path}/reveal`),
    onSuccess: () => client.invalidateQueries({ predicate: ({ queryKey }) => queryKey.join('/').startsWith(path) }),
  })
  return (
    <div className="reveal">
      <button type="button" onClick={() => reveal.mutate()} disabled={reveal.isPending}>
        {label}
      </button>
      <small className="quiet">{note}That you look is logged.</small>
      {reveal.error && <ErrorNote error={reveal.error} />}
    </div>
  )
}
