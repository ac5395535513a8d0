import type { UserLookUp } from '@nextvisit/contracts'
import type { RedisConnection } from '@nextvisit/service-kit'
import { LRUCache } from 'lru-cache'
import type { UserProjector } from './user-projector.ts'

const MAX_IN_MEMORY = 200_000
const MARKED_SECONDS = 7 * 24 * 60 * 60

export type KnownUsers = ReturnType<typeof createKnownUsers>

/**
 * Creates the check that a user exists, from three sources: a cache in this process, markers in Redis that all gateways
 * share, and the user projector. Redis may be emptied at any moment.
 */
export function createKnownUsers(redis: RedisConnection['client'], keyPrefix: string, lookUp: UserProjector['lookUp']) {
  const marked = new LRUCache<string, true>({ max: MAX_IN_MEMORY })
  const keyOf = (userId: string) => `${keyPrefix}user:${userId}`

  /** Marks a user as known. Resolves once other gateways see the marker, or Redis failed. Never rejects. */
  async function mark(userId: string): Promise<void> {
    if (marked.get(userId)) return
    marked.set(userId, true)
    // Without the marker, gateways ask the user projector.
    await redis.set(keyOf(userId), '1', 'EX', MARKED_SECONDS).catch(() => undefined)
  }

  /**
   * Checks that a user exists. `unchecked`: the user projector did not answer in time, so the user counts as known.
   * `crowded`: the organization asks too much at once. Missing users are never cached: an identify on another gateway
   * must be visible at once, even if its marker is lost.
   */
  async function check(user: UserLookUp, deadlineAt: number): Promise<'exists' | 'missing' | 'unchecked' | 'crowded'> {
    if (marked.get(user.userId)) return 'exists'
    const marker = await redis.get(keyOf(user.userId)).catch(() => null)
    if (marker !== null) {
      marked.set(user.userId, true)
      return 'exists'
    }
    const asked = await lookUp(user, deadlineAt)
    if (asked.outcome === 'crowded') return 'crowded'
    if (asked.outcome === 'unavailable' || asked.answer === 'unknown') return 'unchecked'
    if (asked.answer === 'exists') void mark(user.userId)
    return asked.answer
  }

  return { mark, check }
}
