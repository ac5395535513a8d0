import type {
  Form,
  FormDecision,
  FormsReadModel,
  GateReason,
  ProjectConfig,
  QueuedForm,
  Trigger,
} from '@nextvisit/contracts'
import { describeComparison, countedByTrigger, gatesNotChecked, reasonInWords, triggerInWords } from '@nextvisit/domain'
import { shortened } from '../forms/shortened.ts'
import type { FormLine } from './api.ts'
import type { Mask } from '../http/mask.ts'

interface FormLinesParts extends FormsReadModel {
  readonly config: Pick<ProjectConfig, 'forms'> | undefined
  /** Returns how often the event that a trigger counts has happened; undefined: unknown. */
  readonly soFar: (trigger: Trigger) => number | undefined
  readonly mask: Mask
  readonly nowMs: number
}

/**
 * Lists the forms of the project and removed forms with a decision, each with its last decision. Forms with a decision come
 * first.
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
        : 'Never evaluated for this user: none of its triggers has matched yet.',
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

/** Lists the values that each gate compared, then the gates that were not checked. */
export function gateLinesOf({ gates }: Pick<FormDecision, 'gates'>, mask: Mask): FormLine['gates'] {
  const checked = gates.map((gate) => ({
    gate: gate.gate,
    outcome: gate.passed ? ('passed' as const) : ('failed' as const),
    words: describeComparison(mask.gate(gate)),
    // These two quote values of the user or the event.
    withInstants: gate.gate !== 'where' && gate.gate !== 'audience',
  }))
  const rest = gatesNotChecked(gates).map((gate) => ({
    gate,
    outcome: 'not-checked' as const,
    words: 'not checked: an earlier gate failed',
    withInstants: false,
  }))
  return [...checked, ...rest]
}

/** Reasons that refer to rows of the form in the user's queue. */
const ABOUT_ITS_ROWS: ReadonlySet<GateReason> = new Set(['repeat-exhausted', 'too-soon', 'already-waiting'])
const COUNTED_STATES: ReadonlySet<QueuedForm['state']> = new Set(['waiting', 'offered', 'delivered'])

/** Describes the decision, and the state of the row that it refers to, if known. */
function summaryOf({ formId, reason, requestId }: FormDecision, queue: readonly QueuedForm[], nowMs: number): string {
  const rows = queue.filter((row) => row.formId === formId)
  const words = reason === undefined ? 'Queued: every gate passed.' : `Not queued: ${reasonInWords(reason)}.`
  const row =
    reason === undefined
      ? rows.find((one) => one.requestId === requestId)
      : rows.find(({ state }) => ABOUT_ITS_ROWS.has(reason) && COUNTED_STATES.has(state))
  return row ? `${words} ${becameOf(row, nowMs)}` : words
}

/** Describes the state of a queued form in a sentence. */
function becameOf(row: QueuedForm, nowMs: number): string {
  const { state, queuedAt, showFrom, offeredAt, deliveredAt, expiresAt } = row
  switch (state) {
    case 'waiting':
      return Date.parse(showFrom) > nowMs
        ? `It has been waiting since ${queuedAt} and can be shown from ${showFrom}.`
        : `It has been waiting for the user's next visit since ${queuedAt}.`
    case 'offered':
      return `It was offered to a visit at ${offeredAt}, which has not confirmed it yet.`
    case 'delivered':
      return `It was shown at ${deliveredAt}.`
    case 'expired':
      return `It expired at ${expiresAt} before it was shown.`
    case 'cancelled':
      return 'It was cancelled because the workspace removed or disabled the form.'
  }
}

/** Returns the counting triggers of forms without a decision: their counts tell how far the user is. */
export function countedTriggers(
  decisions: readonly FormDecision[],
  config: FormLinesParts['config'],
  { isMasked }: Pick<Mask, 'isMasked'>,
): readonly Trigger[] {
  const decided = new Set(decisions.map(({ formId }) => formId))
  return (config?.forms ?? [])
    .filter(({ id }) => !decided.has(id))
    .flatMap(({ triggers }) => triggers.filter((trigger) => 'event' in trigger && showsProgress(trigger, isMasked)))
}

/**
 * Returns true if the count tells how far the user is.
 * A count by properties reveals how often events had such values, so it is masked. If `where` refers only to the last event,
 * the count ignores properties and does not tell how far the user is.
 */
function showsProgress(trigger: Parameters<typeof countedByTrigger>[0], isMasked: boolean): boolean {
  return trigger.where === undefined || (!isMasked && countedByTrigger(trigger).where !== undefined)
}
