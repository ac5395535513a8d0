import type { UserLookUp } from '@nextvisit/contracts'
import type { RedisConnection } from '@nextvisit/service-kit'
import { LRUCache } from 'lru-cache'
import type { UserProjector } from './user-projector.ts'

const MAX_IN_MEMORY = 200_000
const MARKED_SECONDS = 7 * 24 * 60 * 60

export type KnownUsers = ReturnType<typeof createKnownUsers>

/**
 * Which users were identified before: a small memory here, markers in Redis for all gateways, and the user projector.
 * Redis may be emptied at any moment.
 */
export function createKnownUsers(redis: RedisConnection['client'], keyPrefix: string, lookUp: UserProjector['lookUp']) {
  const marked = new LRUCache<string, true>({ max: MAX_IN_MEMORY })
  const keyOf = (userId: string) => `${keyPrefix}user:${userId}`

  /** Resolves once other gateways can see the marker, or can't for now. Never rejects. */
  async function mark(userId: string): Promise<void> {
    if (marked.get(userId)) return
    marked.set(userId, true)
    // Where it fails, the user projector is asked instead.
    await redis.set(keyOf(userId), '1', 'EX', MARKED_SECONDS).catch(() => undefined)
  }

  /**
   * `unchecked`: the user projector did not say in time, so the user is taken to exist. `crowded`: the organization asks
   * too much at once. That a user is missing is never remembered: an identify elsewhere, whose marker may be lost, must be
   * seen at once.
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
