import { Link } from '@tanstack/react-router'
import type { DeadLetter } from '@nextvisit/contracts'
import { Time } from '../components/time.tsx'

export function DeadLetterLink({ consumer, id }: { readonly consumer: string; readonly id: string }) {
  return (
    <Link to="/operations/$consumer/dead-letters/$id" params={{ consumer, id }}>
      {consumer}/{id}
    </Link>
  )
}

const STATES: { readonly [State in DeadLetter['state']]: { readonly label: string; readonly pill: string } } = {
  dead: { label: 'dead', pill: 'expired' },
  retry: { label: 'waiting for retry', pill: 'waiting' },
  retried: { label: 'folded', pill: 'delivered' },
  discarded: { label: 'discarded', pill: '' },
}

export function DeadLetterStateCell({ state }: Pick<DeadLetter, 'state'>) {
  const { label, pill } = STATES[state]
  return <span className={`pill ${pill}`}>{label}</span>
}

/** The last decision, with its author and time. */
export function LastDecision({ state, decidedBy, decidedAt }: Pick<DeadLetter, 'state' | 'decidedBy' | 'decidedAt'>) {
  if (decidedBy === null || decidedAt === null) return 'none yet'
  return (
    <>
      {state === 'discarded' ? 'discarded' : 'retried'} by {decidedBy}, <Time at={decidedAt} />
    </>
  )
}

export const DECIDED_COLUMNS = ['Letter', 'State', 'Decision', 'Cause'] as const

/** Row of a letter with its last decision. */
export function DecidedRow({ consumer, letter }: { readonly consumer: string; readonly letter: DeadLetter }) {
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
