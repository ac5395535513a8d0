import type { LetterLine } from '../../../src/api/dead-letters.ts'

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
