import type { FormSummary } from '../../../src/forms/api.ts'
import { figure } from '../components/figures.ts'

const LABELS = {
  disabled: 'disabled',
  'not-yet': 'not yet live',
  over: 'no longer live',
  gone: 'not in the workspace',
} as const

/** Reason why a form cannot be queued now; empty if it can. */
export function FormState({ state }: Pick<FormSummary, 'state'>) {
  return state === 'live' ? null : <span className="pill">{LABELS[state]}</span>
}

/** Formats the number of open forms: `1,000+` if there are more than were counted. */
export function openCount({ count, isMore }: FormSummary['open']): string {
  return `${figure(count)}${isMore ? '+' : ''}`
}
