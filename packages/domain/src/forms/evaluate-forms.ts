import type { GateOutcome, GateReason, Trigger } from '@nextvisit/contracts'
import type { CompiledForm, FormIndex } from './form-index.ts'
import { checkGates } from './gates/gates.ts'
import type { FormToQueue } from './queue/queue.ts'
import type { CompiledTrigger, TriggerContext } from './triggers.ts'
import type { UserState } from './user-state.ts'

/** The result for one form whose trigger matched. */
export type EvaluatedForm = {
  readonly formId: string
  /** The first trigger that matched. If all of them fail their `where`, still the first. */
  readonly trigger: Trigger
  /** Each gate up to the first that fails. */
  readonly gates: readonly GateOutcome[]
} & (({ readonly outcome: 'queued' } & FormToQueue) | { readonly outcome: 'not-queued'; readonly reason: GateReason })

/**
 * Evaluates the forms that an event, a visit or a finished form may set off: queued, or the gate that stopped them (forms.md). `user` is the
 * state after the record. Forms without a matching trigger have no result. Callers skip records with
 * `evaluateTriggers: false`.
 */
export function evaluateForms(index: FormIndex, user: UserState, context: TriggerContext): readonly EvaluatedForm[] {
  const candidates = candidatesOf(index, context)
  const { received } = context
  const isMember = index.segments.membersAt(user, received.ms)
  return candidates.flatMap((form): EvaluatedForm | [] => {
    const matched = matchedTrigger(form, user, context)
    if (!matched) return []
    const { trigger, where } = matched
    const { outcomes, reason } =
      where?.passed === false
        ? { outcomes: [], reason: trigger.whereReason }
        : checkGates(form.gates.toQueue, user, received, isMember)
    const common = { formId: form.id, trigger: trigger.source, gates: where ? [where, ...outcomes] : outcomes }
    if (reason) return { outcome: 'not-queued', ...common, reason }
    return {
      outcome: 'queued',
      ...common,
      priority: form.priority,
      showFrom: received.ms + form.delayMs,
      expiresAt: form.expiresAfterMs === undefined ? undefined : received.ms + form.expiresAfterMs,
    }
  })
}

function candidatesOf(index: FormIndex, { event, answered }: TriggerContext): readonly CompiledForm[] {
  if (event) return index.onEvent(event.slug)
  return answered ? index.onAnswersTo(answered.formId) : index.onVisit
}

/**
 * Returns the first trigger that matches, with the outcome of its `where`, if it has one. If all of them fail it, returns the
 * first, whose outcome is recorded.
 */
function matchedTrigger({ triggers }: CompiledForm, user: UserState, context: TriggerContext) {
  let failed: { readonly trigger: CompiledTrigger; readonly where: GateOutcome } | undefined
  for (const trigger of triggers) {
    if (!trigger.matches(user, context)) continue
    const where = trigger.checkWhere?.(context)
    if (where?.passed !== false) return { trigger, where }
    failed ??= { trigger, where }
  }
  return failed
}
