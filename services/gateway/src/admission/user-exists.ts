import type { UserLookUp } from '@nextvisit/contracts'
import { LRUCache } from 'lru-cache'
import type { UserMarkers } from '../user-markers.ts'
import type { BatchedCall } from './batched-call.ts'

const MISSING_REMEMBERED_MS = 1_000

/** `unchecked`: the user projector could not say in time, so the user is taken to exist. */
export type UserExists = (user: UserLookUp, deadlineAt: number) => Promise<'exists' | 'missing' | 'unchecked'>

/**
 * Whether a user was identified before: by its marker, else by the user projector, which answers behind a barrier.
 * "No such user" is remembered for a second, and used only after the marker was looked for: an identify on another
 * gateway must be seen at once.
 */
export function createUserExists(markers: UserMarkers, lookUp: BatchedCall<UserLookUp, boolean>): UserExists {
  const missing = new LRUCache<string, true>({ max: 10_000, ttl: MISSING_REMEMBERED_MS })
  return async (user, deadlineAt) => {
    const marker = await markers.look(user.userId)
    if (marker === 'marked') return 'exists'
    if (marker === 'unmarked' && missing.has(user.userId)) return 'missing'
    const asked = await lookUp(user, deadlineAt)
    if (asked.outcome === 'away') return 'unchecked'
    if (!asked.answer) {
      missing.set(user.userId, true)
      return 'missing'
    }
    void markers.mark(user.userId)
    return 'exists'
  }
}
