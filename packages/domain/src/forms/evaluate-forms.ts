import type { GateReason, Trigger } from '@nextvisit/contracts'
import type { FormIndex } from './form-index.ts'
import { checkGates, type GateCheck, GATES, refusalOf } from './gates.ts'
import type { Occasion } from './triggers.ts'
import type { UserState } from './user-state.ts'

/** What became of one form whose trigger matched. Instants in ms. */
export type FormDecision = {
  readonly formId: string
  /** The first of its triggers that matched. */
  readonly trigger: Trigger
  /** Each gate up to the first that fails. */
  readonly checks: readonly GateCheck[]
} & (
  | {
      readonly outcome: 'queued'
      readonly priority: number
      readonly showFrom: number
      readonly expiresAt?: number | undefined
    }
  | { readonly outcome: 'refused'; readonly reason: GateReason }
)

/**
 * Which forms an event or visit sets off, and which gate stopped the others (forms.md). `user` is the state after the
 * record. Forms whose triggers do not match have no decision. Whether an event is too old was judged by the gateway:
 * call this for `evaluateTriggers: true` only.
 */
export function evaluateForms(index: FormIndex, user: UserState, occasion: Occasion): readonly FormDecision[] {
  const candidates = occasion.kind === 'visit' ? index.onVisit : index.onEvent(occasion.slug)
  const now = occasion.receivedAt
  return candidates.flatMap((form): FormDecision | [] => {
    const trigger = form.triggers.find(({ matches }) => matches(user, occasion))
    if (!trigger) return []
    const checks = checkGates(GATES, form, user, now)
    const common = { formId: form.id, trigger: trigger.source, checks }
    const reason = refusalOf(checks)
    if (reason) return { outcome: 'refused', ...common, reason }
    return {
      outcome: 'queued',
      ...common,
      priority: form.priority,
      showFrom: now + form.delayMs,
      expiresAt: form.expiresAfterMs === undefined ? undefined : now + form.expiresAfterMs,
    }
  })
}
