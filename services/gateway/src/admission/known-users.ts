import type { UserLookUp, UserLookedUp, userProjectorCalls } from '@nextvisit/contracts'
import { keyTimeMs } from '@nextvisit/domain'
import type { DataKey } from '@nextvisit/sealing'
import { type BatchedCall, createBatchedCall, type RedisConnection, type ServiceClient } from '@nextvisit/service-kit'
import type { Fences, SealingKey, SealingKeys } from '@nextvisit/user-keys'
import { LRUCache } from 'lru-cache'
import type { UserPartition } from '../publishing/user-event-publisher.ts'
import { keptForOthersMs } from './admission-budget.ts'
import { type NoVerdict, verdictOf } from './verdicts.ts'

const MAX_IN_MEMORY = 200_000
const MARKED_SECONDS = 7 * 24 * 60 * 60

export type KnownUsers = ReturnType<typeof createKnownUsers>

interface KnownUsersParts {
  readonly redis: RedisConnection['client']
  readonly keyPrefix: string
  readonly projector: Pick<ServiceClient<typeof userProjectorCalls>, 'admission'>
  readonly sealingKeys: SealingKeys
  readonly fences: Fences
  readonly requestBudgetMs: number
}

/** A user that exists. */
interface KnownUser {
  /** `keysUntil` of the user's last erasure, if the projector told it. */
  readonly keysUntilMs?: number | undefined
}

/**
 * Creates the check that a user exists, and the source of users' data keys. Both have the same three sources: the memory of this
 * process, markers in Redis that all gateways share, and the user projector. Redis may be emptied at any moment. A marker holds
 * the wrapped key of a user. An erased user is unknown in memory and in Redis from the moment that `fences` knows the erasure, and stays so
 * when `fences` has forgotten it.
 */
export function createKnownUsers(parts: KnownUsersParts) {
  const { redis, keyPrefix, projector, sealingKeys, fences } = parts
  const { lookUpUsers } = projector.admission
  const keptMs = keptForOthersMs(parts.requestBudgetMs)
  const known = new LRUCache<string, KnownUser>({ max: MAX_IN_MEMORY })
  /**
   * Batched calls by partition. Each waits for its own part of the log, so a lagging partition delays only its own
   * users.
   */
  const lookUps = new Map<number, BatchedCall<UserLookUp, UserLookedUp>>()
  fences.onErased((userIds) => {
    for (const userId of userIds) known.delete(userId)
  })
  const markerOf = (userId: string) => `${keyPrefix}user:${userId}`

  function lookUpIn(partition: number): BatchedCall<UserLookUp, UserLookedUp> {
    const before = lookUps.get(partition)
    if (before) return before
    const lookUp = createBatchedCall(lookUpUsers, {
      tenantOf: ({ organization }) => organization,
      keyOf: ({ userId }) => userId,
    })
    lookUps.set(partition, lookUp)
    return lookUp
  }

  /**
   * Keeps in memory that a user exists, unless the user was erased meanwhile. A key may be later than the clock: that of a user who
   * returned after an erasure.
   */
  function remember(userId: string, sealingKey: SealingKey | undefined, keysUntilMs?: number): void {
    const asOfMs = Math.max(Date.now(), sealingKey ? keyTimeMs(sealingKey.key.id) : 0)
    if (asOfMs > (fences.keysUntilOf(userId) ?? Number.NEGATIVE_INFINITY)) known.set(userId, { keysUntilMs })
  }

  /** Resolves once other gateways see the marker, or Redis failed. Never rejects. Without it, they ask the user projector. */
  async function writeMarker(userId: string, { wrapped }: SealingKey): Promise<void> {
    await redis
      .set(markerOf(userId), `${wrapped.keyId} ${wrapped.wrapped}`, 'EX', MARKED_SECONDS)
      .catch(() => undefined)
  }

  /** Reads the marker of a user, and remembers user and key. Returns true if the user exists. */
  async function readMarker(userId: string): Promise<boolean> {
    const marker = await redis.getex(markerOf(userId), 'EX', MARKED_SECONDS).catch(() => null)
    if (marker === null) return false
    const [keyId = '', wrapped = ''] = marker.split(' ')
    const added = sealingKeys.add({ userId, keyId, wrapped })
    if (added.outcome === 'fenced' || added.outcome === 'damaged') {
      // A gateway that did not know an erasure yet has written it, or it was restored.
      await redis.del(markerOf(userId)).catch(() => undefined)
      return false
    }
    remember(userId, added.outcome === 'added' ? added.sealingKey : undefined)
    return true
  }

  /** Marks a user whose identify is in the log as known. Resolves once other gateways see the marker, or Redis failed. Never rejects. */
  async function mark(userId: string): Promise<void> {
    if (known.get(userId)) return
    const sealingKey = sealingKeys.get(userId)
    remember(userId, sealingKey)
    if (sealingKey) await writeMarker(userId, sealingKey)
  }

  /**
   * Checks that a user exists. Missing users are never cached: an identify on another gateway must be visible at once,
   * even if its marker is lost.
   */
  async function check(
    user: UserLookUp,
    deadlineAt: number,
    traceparent?: string,
  ): Promise<UserLookedUp['existence'] | NoVerdict> {
    const { userId } = user
    if (known.get(userId) || (await readMarker(userId))) return 'exists'
    // The projector answers behind a barrier, as of the question.
    const found = verdictOf(await lookUpIn(user.partition)(user, deadlineAt - keptMs, traceparent))
    if (typeof found === 'string') return found
    const { existence, key } = found
    if (existence !== 'exists') return existence
    const keysUntilMs = found.keysUntil === undefined ? undefined : Date.parse(found.keysUntil)
    const erasedUntilMs = fences.keysUntilOf(userId)
    // The projector has not folded the erasure yet, so these are the rows before it.
    if (erasedUntilMs !== undefined && erasedUntilMs > (keysUntilMs ?? 0)) return 'unknown'
    const added = key && sealingKeys.add({ userId, ...key })
    const sealingKey = added?.outcome === 'added' ? added.sealingKey : undefined
    remember(userId, sealingKey, keysUntilMs)
    if (sealingKey) void writeMarker(userId, sealingKey)
    return 'exists'
  }

  /**
   * Returns a data key of the user, and creates one if neither memory nor Redis has one. `undefined`: a new key could not be
   * published in time.
   */
  async function keyOf({ userId, partition }: UserPartition, deadlineAt: number): Promise<DataKey | undefined> {
    const inMemory = sealingKeys.get(userId)
    if (inMemory) return inMemory.key
    const marked = (await readMarker(userId)) ? sealingKeys.get(userId) : undefined
    if (marked) return marked.key
    const keysUntilMs = known.get(userId)?.keysUntilMs
    const created = await sealingKeys.create(userId, partition, { deadlineAt, keysUntilMs })
    // Other gateways know the user by a marker without a usable key, or by none.
    if (created && known.has(userId)) void writeMarker(userId, created)
    return created?.key
  }

  return { mark, check, keyOf }
}
