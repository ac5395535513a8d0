import type {
  Form,
  FormDecision,
  FormsReadModel,
  GateReason,
  ProjectConfig,
  QueuedForm,
  Trigger,
} from '@nextvisit/contracts'
import { comparedInWords, gatesNotChecked, reasonInWords, triggerInWords } from '@nextvisit/domain'
import { shortened } from '../forms/shortened.ts'
import type { Mask } from '../session/mask.ts'
import type { FormLine } from './api.ts'
import { becameOf } from './became-of.ts'

export interface FormLinesParts extends FormsReadModel {
  readonly config: Pick<ProjectConfig, 'forms'> | undefined
  /** How often what a trigger counts has happened; undefined: not known. */
  readonly soFar: (trigger: Trigger) => number | undefined
  readonly mask: Mask
  readonly nowMs: number
}

/**
 * Every form of the project, and those that it had, with the last decision on each: queued, or not, or never evaluated.
 * Decided ones come first.
 */
export function formLinesOf({ forms: decisions, queue, config, soFar, mask, nowMs }: FormLinesParts): FormLine[] {
  const forms = config?.forms ?? []
  const gone = decisions.filter(({ formId }) => !forms.some(({ id }) => id === formId))
  const decided = (decision: FormDecision): Decided => ({
    decision: decision.decision,
    summary: summaryOf(decision, queue, nowMs),
    at: decision.at,
    requestId: decision.requestId,
    trigger: decision.trigger ? triggerInWords(decision.trigger) : null,
    revision: decision.catalogRevision,
    gates: gateLinesOf(decision, mask),
    waitsFor: [],
  })
  const lines = [
    ...forms.map((form) => {
      const decision = decisions.find(({ formId }) => formId === form.id)
      const common = { formId: form.id, name: form.name ?? null, inWorkspace: true }
      return { ...common, ...(decision ? decided(decision) : neverDecided(form, soFar)) }
    }),
    ...gone.map((decision) => ({ formId: decision.formId, name: null, inWorkspace: false, ...decided(decision) })),
  ]
  return [...lines.filter(({ at }) => at !== null), ...lines.filter(({ at }) => at === null)]
}

type Decided = Omit<FormLine, 'formId' | 'name' | 'inWorkspace'>

function neverDecided({ triggers }: Pick<Form, 'triggers'>, soFar: FormLinesParts['soFar']): Decided {
  return {
    decision: 'never',
    summary:
      triggers.length === 0
        ? 'Never evaluated for this user: the form has no trigger, so nothing queues it.'
        : 'Never evaluated for this user: none of its triggers matched yet.',
    at: null,
    requestId: null,
    trigger: null,
    revision: null,
    gates: [],
    waitsFor: triggers.map((trigger) => ({
      trigger: shortened(triggerInWords(trigger)),
      soFar: soFar(trigger) ?? null,
      count: 'event' in trigger ? (trigger.count ?? 1) : 1,
    })),
  }
}

/** What each gate compared, and those that were not looked at. */
export function gateLinesOf({ gates }: Pick<FormDecision, 'gates'>, mask: Mask): FormLine['gates'] {
  const lookedAt = gates.map((gate) => ({
    gate: gate.gate,
    outcome: gate.passed ? ('passed' as const) : ('failed' as const),
    words: comparedInWords(mask.gate(gate)),
    // The others quote what the user or the event had.
    withInstants: gate.gate !== 'where' && gate.gate !== 'audience',
  }))
  const rest = gatesNotChecked(gates).map((gate) => ({
    gate,
    outcome: 'not-looked-at' as const,
    words: 'not looked at: a gate before it failed',
    withInstants: false,
  }))
  return [...lookedAt, ...rest]
}

/** Reasons that are about rows of the form in the user's queue. */
const ABOUT_ITS_ROWS: ReadonlySet<GateReason> = new Set(['repeat-exhausted', 'too-soon', 'already-waiting'])
const COUNTED_STATES: ReadonlySet<QueuedForm['state']> = new Set(['waiting', 'offered', 'delivered'])

/** Why, or why not; then what became of the row that this is about, as far as it is known. */
function summaryOf({ formId, reason, requestId }: FormDecision, queue: readonly QueuedForm[], nowMs: number): string {
  const rows = queue.filter((row) => row.formId === formId)
  const words = reason === undefined ? 'Queued: every gate passed.' : `Not queued: ${reasonInWords(reason)}.`
  const row =
    reason === undefined
      ? rows.find((one) => one.requestId === requestId)
      : rows.find(({ state }) => ABOUT_ITS_ROWS.has(reason) && COUNTED_STATES.has(state))
  return row ? `${words} ${becameOf(row, nowMs)}` : words
}
