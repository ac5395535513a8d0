import type { GateOutcome, GateReason, Trigger } from '@nextvisit/contracts'
import type { FormIndex } from './form-index.ts'
import { checkGates } from './gates.ts'
import type { AdmittedForm } from './queue.ts'
import type { TriggerContext } from './triggers.ts'
import type { UserState } from './user-state.ts'

/** What became of one form whose trigger matched. */
export type FormDecision = {
  readonly formId: string
  /** The first of its triggers that matched. */
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
    const trigger = form.triggers.find(({ matches }) => matches(user, context))
    if (!trigger) return []
    const { outcomes: gates, reason } = checkGates(form.gates.toQueue, user, received, isMember)
    const common = { formId: form.id, trigger: trigger.source, gates }
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
