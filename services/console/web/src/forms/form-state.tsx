import type { FormSummary } from '../../../src/forms/api.ts'
import { figure } from '../parts/figures.ts'

const LABELS = {
  disabled: 'disabled',
  'not-yet': 'not yet live',
  over: 'no longer live',
  gone: 'not in the workspace',
} as const

/** Why a form cannot be queued now; nothing where it can. */
export function FormState({ state }: Pick<FormSummary, 'state'>) {
  return state === 'live' ? null : <span className="pill">{LABELS[state]}</span>
}

/** `1,000+` where more wait than are counted. */
export function openCount({ count, isMore }: FormSummary['open']): string {
  return `${figure(count)}${isMore ? '+' : ''}`
}
