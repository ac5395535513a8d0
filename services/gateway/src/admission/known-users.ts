import type { UserLookUp } from '@nextvisit/contracts'
import type { RedisConnection } from '@nextvisit/service-kit'
import { LRUCache } from 'lru-cache'
import type { UserProjector } from '../clients/user-projector.ts'

const MAX_IN_MEMORY = 200_000
const MARKED_SECONDS = 7 * 24 * 60 * 60
const MISSING_REMEMBERED_MS = 1_000

export type KnownUsers = ReturnType<typeof createKnownUsers>

/**
 * Which users were identified before: a small memory here, markers in Redis for all gateways, and the user projector.
 * Redis may be emptied at any moment.
 */
export function createKnownUsers(redis: RedisConnection['client'], keyPrefix: string, lookUp: UserProjector['lookUp']) {
  const marked = new LRUCache<string, true>({ max: MAX_IN_MEMORY })
  const missing = new LRUCache<string, true>({ max: 10_000, ttl: MISSING_REMEMBERED_MS })
  const keyOf = (userId: string) => `${keyPrefix}user:${userId}`

  /** Resolves once other gateways can see the marker, or can't for now. Never rejects. */
  async function mark(userId: string): Promise<void> {
    if (marked.get(userId)) return
    marked.set(userId, true)
    // Where it fails, the user projector is asked instead.
    await redis.set(keyOf(userId), '1', 'EX', MARKED_SECONDS).catch(() => undefined)
  }

  /**
   * `unchecked`: the user projector did not say in time, so the user is taken to exist. "No such user" is remembered for a
   * second, and used only after a look at the marker: an identify on another gateway must be seen at once.
   */
  async function check(user: UserLookUp, deadlineAt: number): Promise<'exists' | 'missing' | 'unchecked'> {
    if (marked.get(user.userId)) return 'exists'
    // `undefined`: Redis can't say.
    const marker = await redis.get(keyOf(user.userId)).catch(() => undefined)
    if (typeof marker === 'string') {
      marked.set(user.userId, true)
      return 'exists'
    }
    if (marker === null && missing.has(user.userId)) return 'missing'
    const asked = await lookUp(user, deadlineAt)
    if (asked.outcome === 'away') return 'unchecked'
    if (!asked.answer) {
      missing.set(user.userId, true)
      return 'missing'
    }
    void mark(user.userId)
    return 'exists'
  }

  return { mark, check }
}
