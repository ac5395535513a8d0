import { DONE } from '@nextvisit/contracts'
import type { ChangeEnd } from './change-writer.ts'

/** The outcome of a call to a service. */
type Called =
  | { readonly outcome: 'answered'; readonly answer: unknown }
  | { readonly outcome: 'not-found' | 'behind' | 'unavailable' }

/** Returns the end of a change by a call. A text as its answer is a refusal, except {@link DONE}. */
export function endOfCall(called: Called): ChangeEnd {
  if (called.outcome === 'not-found') return { outcome: 'refused', reason: called.outcome }
  if (called.outcome !== 'answered') return { outcome: 'failed', reason: called.outcome }
  const { answer } = called
  return typeof answer === 'string' && answer !== DONE ? { outcome: 'refused', reason: answer } : { outcome: 'made' }
}

/** Returns the end of a change that lifts a suppression. */
export function endOfLift(outcome: 'lifted' | 'unknown' | 'unavailable'): ChangeEnd {
  if (outcome === 'lifted') return { outcome: 'made' }
  return { outcome: outcome === 'unknown' ? 'refused' : 'failed', reason: outcome }
}
