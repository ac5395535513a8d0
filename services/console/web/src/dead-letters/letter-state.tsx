import type { LetterLine } from '../../../src/dead-letters/api.ts'
import { Time } from '../parts/time.tsx'

const STATES: { readonly [State in LetterLine['state']]: { readonly label: string; readonly look: string } } = {
  dead: { label: 'dead', look: 'expired' },
  retry: { label: 'waits for its retry', look: 'waiting' },
  retried: { label: 'folded', look: 'delivered' },
  discarded: { label: 'discarded', look: '' },
}

export function LetterState({ state }: Pick<LetterLine, 'state'>) {
  const { label, look } = STATES[state]
  return <span className={`pill ${look}`}>{label}</span>
}

/** What was decided last, by whom and when. */
export function LastDecision({ state, decidedBy, decidedAt }: Pick<LetterLine, 'state' | 'decidedBy' | 'decidedAt'>) {
  if (decidedBy === null || decidedAt === null) return 'none yet'
  return (
    <>
      {state === 'discarded' ? 'discarded' : 'retried'} by {decidedBy}, <Time at={decidedAt} />
    </>
  )
}
