import type { UserLookedUp, UserLookUp, userProjectorCalls } from '@nextvisit/contracts'
import { type BatchedCall, createBatchedCall, type RedisConnection, type ServiceClient } from '@nextvisit/service-kit'
import { LRUCache } from 'lru-cache'
import { keptForOthersMs } from './admission-budget.ts'
import { type NoVerdict, verdictOf } from './verdicts.ts'

const MAX_IN_MEMORY = 200_000
const MARKED_SECONDS = 7 * 24 * 60 * 60

export type KnownUsers = ReturnType<typeof createKnownUsers>

/**
 * Creates the check that a user exists, from three sources: a cache in this process, markers in Redis that all gateways
 * share, and the user projector. Redis may be emptied at any moment.
 */
export function createKnownUsers(
  redis: RedisConnection['client'],
  keyPrefix: string,
  { admission }: Pick<ServiceClient<typeof userProjectorCalls>, 'admission'>,
  requestBudgetMs: number,
) {
  const keptMs = keptForOthersMs(requestBudgetMs)
  const marked = new LRUCache<string, true>({ max: MAX_IN_MEMORY })
  /**
   * Batched calls by partition. Each waits for its own part of the log, so a lagging partition delays only its own
   * users.
   */
  const lookUps = new Map<number, BatchedCall<UserLookUp, UserLookedUp>>()
  const keyOf = (userId: string) => `${keyPrefix}user:${userId}`

  function lookUpIn(partition: number): BatchedCall<UserLookUp, UserLookedUp> {
    const known = lookUps.get(partition)
    if (known) return known
    const lookUp = createBatchedCall(admission.lookUpUsers, {
      tenantOf: ({ organization }) => organization,
      keyOf: ({ userId }) => userId,
    })
    lookUps.set(partition, lookUp)
    return lookUp
  }

  /** Marks a user as known. Resolves once other gateways see the marker, or Redis failed. Never rejects. */
  async function mark(userId: string): Promise<void> {
    if (marked.get(userId)) return
    marked.set(userId, true)
    // Without the marker, gateways ask the user projector.
    await redis.set(keyOf(userId), '1', 'EX', MARKED_SECONDS).catch(() => undefined)
  }

  /**
   * Checks that a user exists. Missing users are never cached: an identify on another gateway must be visible at once,
   * even if its marker is lost.
   */
  async function check(user: UserLookUp, deadlineAt: number): Promise<UserLookedUp['existence'] | NoVerdict> {
    if (marked.get(user.userId)) return 'exists'
    const marker = await redis.get(keyOf(user.userId)).catch(() => null)
    if (marker !== null) {
      marked.set(user.userId, true)
      return 'exists'
    }
    // The projector answers behind a barrier, as of the question.
    const found = verdictOf(await lookUpIn(user.partition)(user, deadlineAt - keptMs))
    if (typeof found === 'string') return found
    if (found.existence === 'exists') void mark(user.userId)
    return found.existence
  }

  return { mark, check }
}
