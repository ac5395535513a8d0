import type { GateOutcome, GateReason, Trigger } from '@nextvisit/contracts'
import type { CompiledForm, FormIndex } from './form-index.ts'
import { type CheckedGates, checkGates } from './gates/gates.ts'
import type { AdmittedForm } from './queue.ts'
import type { CompiledTrigger, TriggerContext } from './triggers.ts'
import type { UserState } from './user-state.ts'

/** What became of one form whose trigger matched. */
export type FormDecision = {
  readonly formId: string
  /** The first of its triggers that matched. If `where` refused every one that matched, the first of them. */
  readonly trigger: Trigger
  /** Each gate up to the first that fails. */
  readonly gates: readonly GateOutcome[]
} & (({ readonly outcome: 'queued' } & AdmittedForm) | { readonly outcome: 'refused'; readonly reason: GateReason })

/**
 * Which forms an event or visit sets off, and which gate stopped the others (forms.md). `user` is the state after the
 * record. Forms whose triggers do not match have no decision. Whether an event is too old was judged by the gateway:
 * call this for `evaluateTriggers: true` only.
 */
export function evaluateForms(index: FormIndex, user: UserState, context: TriggerContext): readonly FormDecision[] {
  const candidates = context.kind === 'visit' ? index.onVisit : index.onEvent(context.slug)
  const { received } = context
  const isMember = index.segments.membersAt(user, received.ms)
  return candidates.flatMap((form): FormDecision | [] => {
    const matched = matchedTrigger(form, user, context)
    if (!matched) return []
    const { trigger, where } = matched
    const { outcomes, reason } =
      where?.passed === false ? NOT_CHECKED : checkGates(form.gates.toQueue, user, received, isMember)
    const common = { formId: form.id, trigger: trigger.source, gates: where ? [where, ...outcomes] : outcomes }
    if (reason) return { outcome: 'refused', ...common, reason }
    return {
      outcome: 'queued',
      ...common,
      priority: form.priority,
      showFrom: received.ms + form.delayMs,
      expiresAt: form.expiresAfterMs === undefined ? undefined : received.ms + form.expiresAfterMs,
    }
  })
}

/** No gate looks at the user if the event is not as the trigger asks. */
const NOT_CHECKED: CheckedGates = { outcomes: [], reason: 'properties-differ' }

interface MatchedTrigger {
  readonly trigger: CompiledTrigger
  /** Of a trigger that asks for properties. */
  readonly where: GateOutcome | undefined
}

/** The first trigger that matches. If `where` refuses every one that matches, the first of them: the decision says why. */
function matchedTrigger(
  { triggers }: CompiledForm,
  user: UserState,
  context: TriggerContext,
): MatchedTrigger | undefined {
  let refused: MatchedTrigger | undefined
  for (const trigger of triggers) {
    if (!trigger.matches(user, context)) continue
    const where = trigger.checkWhere?.(context)
    if (where?.passed !== false) return { trigger, where }
    refused ??= { trigger, where }
  }
  return refused
}
