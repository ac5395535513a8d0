import type { ProjectRef } from '@nextvisit/contracts'
import { userIdOf } from '@nextvisit/domain'
import type { ErasureView } from '@nextvisit/user-keys'
import { type RefusalRule, REFUSALS } from '../refusals/refusals.ts'

/**
 * Creates the check that a user is not suppressed (decisions.md, Erasure). Returns the rule that refuses the user's records;
 * undefined: none does. Without any suppression, the check costs a comparison.
 */
export function createCheckSuppression(view: Pick<ErasureView, 'isSuppressed' | 'suppressedUsers' | 'currentAsOfMs'>) {
  return ({ organization, project }: ProjectRef, userName: string): RefusalRule | undefined => {
    if (view.currentAsOfMs() === 0) return REFUSALS.noErasures
    if (view.suppressedUsers() === 0) return undefined
    const user = { organization, project, userId: userIdOf(organization, project, userName) }
    return view.isSuppressed(user) ? REFUSALS.suppressed : undefined
  }
}
