import type { FormDecision, GateReason, ProjectConfig } from '@nextvisit/contracts'
import { comparedInWords, gatesNotLookedAt, triggerInWords } from '@nextvisit/domain'
import type { FormLine } from '../api/users.ts'
import { GATE_REASONS } from '../forms/gate-reasons.ts'
import type { Mask } from './mask.ts'

/** Every form of the project, and those that it had, with the last decision on each: queued, or not, or never evaluated. */
export function formLinesOf(
  decisions: readonly FormDecision[],
  config: Pick<ProjectConfig, 'forms'> | undefined,
  mask: Mask,
): FormLine[] {
  const forms = config?.forms ?? []
  const gone = decisions.filter(({ formId }) => !forms.some(({ id }) => id === formId))
  return [
    ...forms.map(({ id, name = null }) => {
      const decision = decisions.find(({ formId }) => formId === id)
      return { formId: id, name, inWorkspace: true, ...(decision ? decided(decision, mask) : NEVER) }
    }),
    ...gone.map((decision) => ({
      formId: decision.formId,
      name: null,
      inWorkspace: false,
      ...decided(decision, mask),
    })),
  ]
}

type Decided = Omit<FormLine, 'formId' | 'name' | 'inWorkspace'>

const NEVER: Decided = {
  decision: 'never',
  summary: 'Never evaluated for this user: none of its triggers matched yet.',
  at: null,
  requestId: null,
  trigger: null,
  revision: null,
  gates: [],
}

function decided(
  { decision, reason, at, requestId, trigger, catalogRevision, gates }: FormDecision,
  mask: Mask,
): Decided {
  const lookedAt = gates.map((gate) => ({
    gate: gate.gate,
    outcome: gate.passed ? ('passed' as const) : ('failed' as const),
    words: comparedInWords(mask.gate(gate)),
    // The others quote what the user or the event had.
    withInstants: gate.gate !== 'where' && gate.gate !== 'audience',
  }))
  const rest = gatesNotLookedAt(gates).map((gate) => ({
    gate,
    outcome: 'not-looked-at' as const,
    words: 'not looked at: a gate before it failed',
    withInstants: false,
  }))
  return {
    decision,
    summary: summaryOf(reason),
    at,
    requestId,
    trigger: trigger ? triggerInWords(trigger) : null,
    revision: catalogRevision,
    gates: [...lookedAt, ...rest],
  }
}

function summaryOf(reason: GateReason | undefined): string {
  return reason === undefined ? 'Queued: every gate passed.' : `Not queued: ${GATE_REASONS[reason]}.`
}
