import type {
  Form,
  FormDecision,
  FormsReadModel,
  GateName,
  GateReason,
  MissedEvent,
  NotUnderstood,
  ProjectConfig,
  QueuedForm,
  Trigger,
  TriggerCountsAnswer,
} from '@nextvisit/contracts'
import { MAX_TRIGGER_AGE_MS } from '../bodies/occurred-at.ts'
import { triggerInWords } from '../conditions/condition-words.ts'
import { countedByTrigger } from '../counts/count-key.ts'
import { describeComparison, gatesNotChecked, reasonInWords } from './gates/gates.ts'

/** Progress of a user with a trigger. `count`: undefined if unknown. */
export interface TriggerProgress {
  readonly count?: number | undefined
  /** The last event that counted, but triggered nothing. */
  readonly missed?: MissedEvent | undefined
}

/** Assigns the evaluator's answer to the triggers of its question. */
export function progressByTrigger(
  triggers: readonly Trigger[],
  { counts, missed }: TriggerCountsAnswer,
): ReadonlyMap<Trigger, TriggerProgress> {
  return new Map(
    triggers.map((trigger, nth) => [trigger, { count: counts[nth] ?? undefined, missed: missed[nth] ?? undefined }]),
  )
}

interface ExplainedParts extends FormsReadModel {
  /** The forms in the workspace. undefined: the catalog cannot be read. */
  readonly workspace: FormsOfWorkspace | undefined
  readonly progressOf: (trigger: Trigger) => TriggerProgress | undefined
  readonly nowMs: number
}

/** A project of the catalog. A removed project has no forms. */
interface FormsOfWorkspace {
  readonly config: Pick<ProjectConfig, 'forms'>
  readonly notUnderstood: readonly NotUnderstood[]
}

export interface ExplainedGate {
  readonly gate: GateName
  readonly outcome: 'passed' | 'failed' | 'not-checked'
  /** The values that the gate compared. */
  readonly words: string
  /** The text is ours, so instants in it may be converted to the reader's time zone. Values of users are shown unchanged. */
  readonly withInstants: boolean
}

/** The last decision on a form. */
export interface ExplainedDecision {
  readonly outcome: 'queued' | 'not-queued'
  readonly reason: GateReason | null
  /** The decision in words. All instants are ours. */
  readonly words: string
  readonly at: string
  readonly requestId: string
  /** The trigger that matched, in words. */
  readonly trigger: string | null
  readonly revision: number
  readonly gates: readonly ExplainedGate[]
}

/** A trigger of a form without a decision. */
export interface AwaitedTrigger {
  readonly trigger: string
  /** How often the counted event has happened; null: unknown. */
  readonly soFar: number | null
  /** How often it must happen. */
  readonly count: number
}

/** Why a form did, or did not, reach a user: the source of `nextvisit why` and of the console. */
export interface FormExplanation {
  readonly formId: string
  readonly name: string | null
  /** `not-understood`: written by a later version. `unknown`: the catalog cannot be read. */
  readonly presence: 'workspace' | 'removed' | 'not-understood' | 'unknown'
  /** The state of the form's latest row in the queue; without a row, the last decision. `never`: no trigger has matched yet. */
  readonly state: QueuedForm['state'] | 'queued' | 'not-queued' | 'never'
  /** The state in words. All instants are ours. */
  readonly summary: string
  readonly decision: ExplainedDecision | null
  readonly waitsFor: readonly AwaitedTrigger[]
  /** Sentences about later events that counted but could trigger nothing. All instants are ours. */
  readonly missed: readonly string[]
}

/** Explains the forms of the project, and removed forms with a decision or a row. Forms with a decision come first. */
export function explainForms(parts: ExplainedParts): readonly FormExplanation[] {
  const { forms: decisions, queue, workspace } = parts
  const configured = workspace?.config.forms ?? []
  const known = new Set([...decisions, ...queue].map(({ formId }) => formId))
  const others = [...known].filter((id) => !configured.some((form) => form.id === id))
  const all = [
    ...configured.map((form) => explain(form.id, form, parts)),
    ...others.map((id) => explain(id, undefined, parts)),
  ]
  return [...all.filter(({ state }) => state !== 'never'), ...all.filter(({ state }) => state === 'never')]
}

function explain(formId: string, form: Form | undefined, parts: ExplainedParts): FormExplanation {
  const decision = parts.forms.find((one) => one.formId === formId)
  // Open rows come first, then the latest closed one.
  const row = parts.queue.find((one) => one.formId === formId)
  const state = row?.state ?? decision?.decision ?? 'never'
  return {
    formId,
    name: form?.name ?? null,
    presence: presenceOf(formId, form, parts.workspace),
    state,
    summary: row ? rowInWords(row, parts.nowMs) : decision ? decisionInWords(decision, row) : neverInWords(form),
    decision: decision ? explainDecision(decision, row) : null,
    waitsFor: state === 'never' ? (form?.triggers ?? []).map((trigger) => awaited(trigger, parts)) : [],
    missed: missedInWords(form, decision, parts),
  }
}

function presenceOf(
  formId: string,
  form: Form | undefined,
  workspace: FormsOfWorkspace | undefined,
): FormExplanation['presence'] {
  if (!workspace) return 'unknown'
  if (workspace.notUnderstood.some(({ kind, id }) => kind === 'form' && id === formId)) return 'not-understood'
  return form ? 'workspace' : 'removed'
}

/** Describes a queued form: its state, and the answer of the user, if there is one. */
function rowInWords(row: QueuedForm, nowMs: number): string {
  return [stateInWords(row, nowMs), ...answerInWords(row)].join(' ')
}

function stateInWords(
  { state, queuedAt, showFrom, offeredAt, deliveredAt, expiresAt }: QueuedForm,
  nowMs: number,
): string {
  const until = expiresAt === null ? '' : `, until ${expiresAt}`
  switch (state) {
    case 'waiting':
      return Date.parse(showFrom) > nowMs
        ? `Waiting since ${queuedAt}; may be shown from ${showFrom}${until}.`
        : `Waiting for the user's next visit since ${queuedAt}${until}.`
    case 'offered':
      return `Offered to a visit at ${offeredAt}, which has not confirmed it yet.`
    case 'answered':
      return 'Answered before a visit had confirmed that it was shown.'
    case 'delivered':
      return `Shown at ${deliveredAt}.`
    case 'expired':
      return `Expired at ${expiresAt} before it was shown.`
    case 'cancelled':
      return `Cancelled, because the workspace removed or disabled the form. It was queued at ${queuedAt}.`
  }
}

function answerInWords({ answerStatus, startedAt, endedAt }: QueuedForm): readonly string[] {
  switch (answerStatus) {
    case null:
      return []
    case 'partial':
      return startedAt === null ? [] : [`The user began to answer at ${startedAt}.`]
    case 'finished':
      return [`The user finished it at ${endedAt}.`]
    case 'dismissed':
      return [`The user dismissed it at ${endedAt}.`]
  }
}

function decisionInWords({ reason }: FormDecision, row: QueuedForm | undefined): string {
  if (reason === undefined) return 'Queued: every gate passed.'
  return `Not queued${row ? ' again' : ''}: ${reasonInWords(reason)}.`
}

function neverInWords(form: Form | undefined): string {
  if (form?.enabled === false) return 'Never evaluated for this user: the form is disabled.'
  if (form?.triggers.length === 0)
    return 'Never evaluated for this user: the form has no trigger, so nothing queues it.'
  return 'Never evaluated for this user: none of its triggers has matched yet.'
}

function explainDecision(decision: FormDecision, row: QueuedForm | undefined): ExplainedDecision {
  const { decision: outcome, reason = null, at, requestId, trigger, catalogRevision: revision } = decision
  return {
    outcome,
    reason,
    words: decisionInWords(decision, row),
    at,
    requestId,
    trigger: trigger ? triggerInWords(trigger) : null,
    revision,
    gates: explainGates(decision),
  }
}

/** Lists the values that each gate compared, then the gates that were not checked. */
export function explainGates({ gates }: Pick<FormDecision, 'gates'>): readonly ExplainedGate[] {
  const checked = gates.map((gate) => ({
    gate: gate.gate,
    outcome: gate.passed ? ('passed' as const) : ('failed' as const),
    words: describeComparison(gate),
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

function awaited(trigger: Trigger, { progressOf }: Pick<ExplainedParts, 'progressOf'>): AwaitedTrigger {
  return {
    trigger: triggerInWords(trigger),
    soFar: showsProgress(trigger) ? (progressOf(trigger)?.count ?? null) : null,
    count: 'event' in trigger ? (trigger.count ?? 1) : 1,
  }
}

/** If `where` refers only to the last event, the count ignores properties and does not tell how far the user is. */
function showsProgress(trigger: Trigger): boolean {
  return 'event' in trigger && (trigger.where === undefined || countedByTrigger(trigger).where !== undefined)
}

function missedInWords(
  form: Form | undefined,
  decision: FormDecision | undefined,
  { progressOf }: Pick<ExplainedParts, 'progressOf'>,
): readonly string[] {
  const sentences = (form?.triggers ?? []).flatMap((trigger) => {
    const missed = progressOf(trigger)?.missed
    if (!('event' in trigger) || !missed || (decision && missed.receivedAt <= decision.at)) return []
    const { at, receivedAt } = missed
    const isOld = Date.parse(receivedAt) - Date.parse(at) > MAX_TRIGGER_AGE_MS
    const why = isOld ? `was older than 15 minutes when it arrived at ${receivedAt}` : `was imported at ${receivedAt}`
    return `The event ${trigger.event} of ${at} ${why}. It counts, but it triggers no form.`
  })
  return [...new Set(sentences)]
}

/**
 * Returns the triggers whose progress explains forms. A count by properties reveals how often events had such values: a
 * viewer who must not see values does not ask for it.
 */
export function triggersToCount(
  forms: readonly Form[],
  { seesValues }: { readonly seesValues: boolean },
): readonly Trigger[] {
  return forms.flatMap(({ triggers }) =>
    triggers.filter((trigger) => 'event' in trigger && (seesValues || countedByTrigger(trigger).where === undefined)),
  )
}
