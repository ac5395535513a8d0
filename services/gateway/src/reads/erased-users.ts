import type { UserRef } from '@nextvisit/contracts'
import type { ErasureView } from '@nextvisit/user-keys'

/** Erasures that this gateway knows. A projector that lags, for example after a restore, may not have folded them. */
export type KnownErasures = Pick<ErasureView, 'isSuppressed' | 'keysUntilOf'>

/** Returns true if the user is suppressed, or was erased within 8 days. A stale answer may then show the erased person. */
export function wasErased(erasures: KnownErasures, user: UserRef): boolean {
  return erasures.isSuppressed(user) || erasures.keysUntilOf(user.userId) !== undefined
}
