import { type FormDecision, GATE_NAMES, type GateOutcome, type QueuedForm } from '@nextvisit/contracts'
import { describeComparison, gatesNotChecked, triggerInWords } from '@nextvisit/domain'
import { styled } from '../output/print.ts'

const WIDTH = Math.max(...GATE_NAMES.map((gate) => gate.length))

/** Formats a decision: its outcome, and each gate in order. */
export function decisionLines(decision: FormDecision, userName: string): readonly string[] {
  const { formId, reason, at, requestId, trigger, catalogRevision, gates } = decision
  const setOffBy = trigger ? ` (${triggerInWords(trigger)})` : ''
  const rest = gatesNotChecked(gates)
  return [
    styled('bold', `${formId} was ${reason ? `not queued for ${userName}: ${reason}` : `queued for ${userName}`}`),
    `  at ${at}, by record ${requestId}${setOffBy}, under revision ${catalogRevision}`,
    ...gates.map((gate) => gateLine(gate)),
    ...(gates.length === 0 ? ['  The compared values are missing: the decision predates them.'] : []),
    ...(rest.length > 0 ? [`  - not checked: ${rest.join(', ')}`] : []),
  ]
}

function gateLine(outcome: GateOutcome): string {
  const mark = outcome.passed ? styled('green', '✓') : styled('red', '✗')
  return `  ${mark} ${outcome.gate.padEnd(WIDTH)}  ${describeComparison(outcome)}`
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
}: QueuedForm): string {
  const details = [
    `queued ${queuedAt}`,
    showFrom !== queuedAt && `shown from ${showFrom}`,
    expiresAt && `expires ${expiresAt}`,
    offeredAt && `offered ${offeredAt}`,
    deliveredAt && `delivered ${deliveredAt}`,
  ]
  return `${formId} ${state}: ${details.filter(Boolean).join(', ')}`
}
