import type { Answer } from '../../../src/api-routes.ts'
import { Time } from './time.tsx'

type QueuedForm = Pick<Answer<'readUserForms'>['queue'][number], 'state' | 'queuedAt' | 'showFrom' | 'expiresAt'>

export const QUEUED_FORM_COLUMNS = ['State', 'Queued', 'Shown from', 'Expires'] as const

/** Cells of a form in a user's queue. */
export function QueuedFormCells({ queued: { state, queuedAt, showFrom, expiresAt } }: { readonly queued: QueuedForm }) {
  return (
    <>
      <td>
        <span className={`pill ${state}`}>{state}</span>
      </td>
      <td>
        <Time at={queuedAt} />
      </td>
      <td>{showFrom === queuedAt ? 'immediately' : <Time at={showFrom} />}</td>
      <td>{expiresAt ? <Time at={expiresAt} /> : 'never'}</td>
    </>
  )
}
