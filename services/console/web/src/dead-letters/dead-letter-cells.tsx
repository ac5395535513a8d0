import { Link } from '@tanstack/react-router'
import type { DeadLetterLine } from '../../../src/dead-letters/api.ts'
import { Time } from '../parts/time.tsx'

export function DeadLetterLink({ consumer, id }: { readonly consumer: string; readonly id: string }) {
  return (
    <Link to="/operations/$consumer/dead-letters/$id" params={{ consumer, id }}>
      {consumer}/{id}
    </Link>
  )
}

const STATES: { readonly [State in DeadLetterLine['state']]: { readonly label: string; readonly look: string } } = {
  dead: { label: 'dead', look: 'expired' },
  retry: { label: 'waiting for retry', look: 'waiting' },
  retried: { label: 'folded', look: 'delivered' },
  discarded: { label: 'discarded', look: '' },
}

export function DeadLetterStateCell({ state }: Pick<DeadLetterLine, 'state'>) {
  const { label, look } = STATES[state]
  return <span className={`pill ${look}`}>{label}</span>
}

/** The last decision, with its author and time. */
export function LastDecision({
  state,
  decidedBy,
  decidedAt,
}: Pick<DeadLetterLine, 'state' | 'decidedBy' | 'decidedAt'>) {
  if (decidedBy === null || decidedAt === null) return 'none yet'
  return (
    <>
      {state === 'discarded' ? 'discarded' : 'retried'} by {decidedBy}, <Time at={decidedAt} />
    </>
  )
}

export const DECIDED_COLUMNS = ['Letter', 'State', 'Decision', 'Cause'] as const

/** Row of a letter with its last decision. */
export function DecidedRow({ consumer, letter }: { readonly consumer: string; readonly letter: DeadLetterLine }) {
  return (
    <tr>
      <th scope="row">
        <DeadLetterLink consumer={consumer} id={letter.id} />
      </th>
      <td>
        <DeadLetterStateCell state={letter.state} />
      </td>
      <td>
        <LastDecision {...letter} />
      </td>
      <td className="value">{letter.cause}</td>
    </tr>
  )
}
