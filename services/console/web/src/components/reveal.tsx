import { useMutation, useQueryClient } from '@tanstack/react-query'
import type { Input } from '../../../src/api-routes.ts'
import { callApi } from '../app/api.ts'
import { ErrorNote } from './notes.tsx'

type RevealName = 'revealUser' | 'revealSegment' | 'revealDeadLetter' | 'revealFormAnswers' | 'revealDelivery'

interface RevealProps<Name extends RevealName> {
  readonly name: Name
  readonly input: Input<Name>
  /** Label of the button. */
  readonly label?: string
  /** Describes the hidden data; empty where the page does so next to it. */
  readonly note?: string
}

/** Button for viewers that shows personal data on this page. The server logs it. */
export function Reveal<Name extends RevealName>({
  name,
  input,
  label = 'Show personal data',
  note = 'Values are masked. ',
}: RevealProps<Name>) {
  const client = useQueryClient()
  const reveal = useMutation({
    mutationFn: () => callApi(name, input),
    // Any answer on this page may contain masked values.
    onSuccess: () => client.invalidateQueries(),
  })
  return (
    <div className="reveal">
      <button type="button" onClick={() => reveal.mutate()} disabled={reveal.isPending}>
        {label}
      </button>
      <small className="quiet">{note}Access is logged.</small>
      {reveal.error && <ErrorNote error={reveal.error} />}
    </div>
  )
}
