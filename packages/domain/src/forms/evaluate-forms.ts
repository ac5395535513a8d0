import type { FormIndex } from './form-index.ts'
import { firstRefusal, GATES, type GateReason } from './gates.ts'
import type { Occasion } from './triggers.ts'
import type { UserState } from './user-state.ts'

/** What became of one form whose trigger matched. Instants in ms. */
export type FormDecision =
  | {
      readonly outcome: 'queued'
      readonly formId: string
      readonly priority: number
      readonly showFrom: number
      readonly expiresAt?: number | undefined
    }
  | { readonly outcome: 'refused'; readonly formId: string; readonly reason: GateReason }

/**
 * Which forms an event or visit sets off, and which gate stopped the others (forms.md). `user` is the state after the
 * record. Forms whose triggers do not match have no decision. Whether an event is too old was judged by the gateway:
 * call this for `evaluateTriggers: true` only.
 */
export function evaluateForms(index: FormIndex, user: UserState, occasion: Occasion): readonly FormDecision[] {
  const candidates = occasion.kind === 'visit' ? index.onVisit : index.onEvent(occasion.slug)
  const now = occasion.receivedAt
  return candidates
    .filter((form) => form.triggers.some((trigger) => trigger.matches(user, occasion)))
    .map((form): FormDecision => {
      const reason = firstRefusal(GATES, form, user, now)
      if (reason) return { outcome: 'refused', formId: form.id, reason }
      return {
        outcome: 'queued',
        formId: form.id,
        priority: form.priority,
        showFrom: now + form.delayMs,
        expiresAt: form.expiresAfterMs === undefined ? undefined : now + form.expiresAfterMs,
      }
    })
}
