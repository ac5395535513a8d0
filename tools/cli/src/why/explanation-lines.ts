import { GATE_NAMES, type QueuedForm } from '@nextvisit/contracts'
import type { ExplainedDecision, ExplainedGate, FormExplanation } from '@nextvisit/domain'
import { styled } from '../output/print.ts'

const WIDTH = Math.max(...GATE_NAMES.map((gate) => gate.length))

const STATES: Readonly<Partial<Record<FormExplanation['state'], string>>> = {
  'not-queued': 'not queued',
  never: 'never evaluated',
}
const PRESENCE: Readonly<Record<FormExplanation['presence'], string>> = {
  workspace: '',
  unknown: '',
  removed: ' (removed from the workspace)',
  'not-understood': ' (of a later version: this one does not understand it)',
}

/** Formats a form: its present state, then its last decision with each gate in order. */
export function explanationLines({
  formId,
  presence,
  state,
  summary,
  decision,
  waitsFor,
  missed,
}: FormExplanation): readonly string[] {
  return [
    styled('bold', `${formId}${PRESENCE[presence]}: ${STATES[state] ?? state}`),
    `  ${summary}`,
    ...waitsFor.map(({ trigger, soFar, count }) => `  Waits for: ${trigger}${progress(soFar, count)}`),
    ...missed.map((sentence) => `  ${sentence}`),
    ...(decision ? decisionLines(decision, summary) : []),
  ]
}

function progress(soFar: number | null, count: number): string {
  if (soFar === null) return ''
  return ` (${soFar} of ${count}${soFar >= count ? '; the next one triggers it' : ''})`
}

function decisionLines(decision: ExplainedDecision, summary: string): readonly string[] {
  const { reason, words, at, requestId, trigger, revision, gates } = decision
  const setOffBy = trigger ? ` (${trigger})` : ''
  const rest = gates.filter(({ outcome }) => outcome === 'not-checked').map(({ gate }) => gate)
  return [
    ...(words === summary ? [] : [`  ${words}`]),
    `  Decided${reason ? ` as ${reason}` : ''} at ${at}, by record ${requestId}${setOffBy}, under revision ${revision}`,
    ...gates.filter(({ outcome }) => outcome !== 'not-checked').map(gateLine),
    ...(gates.length === 0 ? ['  The compared values are missing: the decision predates them.'] : []),
    ...(rest.length > 0 ? [`  - not checked: ${rest.join(', ')}`] : []),
  ]
}

function gateLine({ gate, outcome, words }: ExplainedGate): string {
  const mark = outcome === 'passed' ? styled('green', '✓') : styled('red', '✗')
  return `  ${mark} ${gate.padEnd(WIDTH)}  ${words}`
}

/** Formats a row of the queue. */
export function queuedLine({
  formId,
  state,
  queuedAt,
  showFrom,
  expiresAt,
  offeredAt,
  deliveredAt,
  answerStatus,
  startedAt,
  endedAt,
}: QueuedForm): string {
  const details = [
    `queued ${queuedAt}`,
    showFrom !== queuedAt && `shown from ${showFrom}`,
    expiresAt && `expires ${expiresAt}`,
    offeredAt && `offered ${offeredAt}`,
    deliveredAt && `delivered ${deliveredAt}`,
    startedAt && `answered from ${startedAt}`,
    endedAt && `${answerStatus} ${endedAt}`,
  ]
  return `${formId} ${state}: ${details.filter(Boolean).join(', ')}`
}
