import type { Sealed } from '@nextvisit/contracts'
import { isFencedKey, newKeyTimeMs } from '@nextvisit/domain'
import type { PublishOutcome } from '@nextvisit/log'
import { createDataKey, type DataKey, type KeyRing, unwrapDataKey, type WrappedKey } from '@nextvisit/sealing'
import { LRUCache } from 'lru-cache'
import type { Fences } from './fences.ts'

/** A key with its wrapped form, which other processes can open. */
export interface SealingKey {
  readonly key: DataKey
  readonly wrapped: WrappedKey
}

/**
 * - `fenced`: an erasure has destroyed the key.
 * - `missing-key`: the ring lacks the key that wraps it.
 * - `damaged`: the text was changed, or wrapped for another user or keyId.
 */
export type AddedKey =
  | { readonly outcome: 'added'; readonly sealingKey: SealingKey }
  | { readonly outcome: 'fenced' | 'missing-key' | 'damaged' }

interface SealingKeysOptions {
  readonly keyRing: KeyRing
  /** Publishes a key to the user's partition of `user-keys`. Must not reject. */
  readonly publish: (wrapped: WrappedKey, partition: number, deadlineAt: number) => Promise<PublishOutcome>
  readonly fences: Fences
  /** Maximum number of open keys in memory, each about 1 KB. */
  readonly max: number
  /** The clock. Default: that of this process. */
  readonly nowMs?: () => number
}

interface CreateOptions {
  /** A `performance.now()` instant. */
  readonly deadlineAt: number
  /** `keysUntil` of an erasure that the caller knows of. */
  readonly keysUntilMs?: number | undefined
}

export type SealingKeys = ReturnType<typeof createSealingKeys>

/**
 * Creates the open data keys of a process that writes sealed records. Two processes may create two keys for one user; both
 * open.
 */
export function createSealingKeys({ keyRing, publish, fences, max, nowMs = Date.now }: SealingKeysOptions) {
  const open = new LRUCache<string, SealingKey>({ max })
  /** Keys that are being published, by user. */
  const creating = new Map<string, Promise<SealingKey | undefined>>()
  fences.onErased((userIds) => {
    for (const userId of userIds) open.delete(userId)
  })

  function keysUntilMsOf(userId: string, known = Number.NEGATIVE_INFINITY): number {
    return Math.max(known, fences.keysUntilOf(userId) ?? Number.NEGATIVE_INFINITY)
  }

  /** Returns the user's key if it is in memory, and drops one that an erasure has destroyed. */
  function get(userId: string, keysUntilMs?: number): SealingKey | undefined {
    const sealingKey = open.get(userId)
    const fence = { keysUntilMs: keysUntilMsOf(userId, keysUntilMs) }
    if (!sealingKey || !isFencedKey(sealingKey.key.id, fence)) return sealingKey
    open.delete(userId)
    return undefined
  }

  /** Keeps a published key in memory, once it is opened. */
  function add(wrapped: WrappedKey): AddedKey {
    const { userId, keyId } = wrapped
    if (isFencedKey(keyId, { keysUntilMs: keysUntilMsOf(userId) })) return { outcome: 'fenced' }
    const unwrapped = unwrapDataKey(keyRing, wrapped)
    if (unwrapped.outcome !== 'unwrapped') return { outcome: unwrapped.outcome }
    const sealingKey = { key: unwrapped.key, wrapped }
    open.set(userId, sealingKey)
    return { outcome: 'added', sealingKey }
  }

  async function createNow(userId: string, partition: number, options: CreateOptions): Promise<SealingKey | undefined> {
    const atMs = newKeyTimeMs(nowMs(), keysUntilMsOf(userId, options.keysUntilMs))
    const sealingKey = createDataKey(keyRing, userId, atMs)
    const published = await publish(sealingKey.wrapped, partition, options.deadlineAt)
    if (published.outcome !== 'published') return undefined
    open.set(userId, sealingKey)
    // Undefined if the user was erased meanwhile.
    return get(userId)
  }

  function createOrJoin(userId: string, partition: number, options: CreateOptions): Promise<SealingKey | undefined> {
    const created =
      creating.get(userId) ?? createNow(userId, partition, options).finally(() => void creating.delete(userId))
    creating.set(userId, created)
    return created
  }

  /**
   * Returns the user's key in memory, or creates one. Resolves once the key is in the log with `acks=all`, so that a record
   * that it seals can follow. undefined: the key may be missing in the log, so no record may use it. Requests of one user share
   * a creation.
   */
  async function create(userId: string, partition: number, options: CreateOptions): Promise<SealingKey | undefined> {
    const known = get(userId, options.keysUntilMs)
    if (known) return known
    const isJoining = creating.has(userId)
    const created = usable(await createOrJoin(userId, partition, options), options)
    // The request that began the creation may have had less time left, or may not have known of an erasure.
    if (created || !isJoining) return created
    return get(userId, options.keysUntilMs) ?? usable(await createOrJoin(userId, partition, options), options)
  }

  return { get, add, create }
}

/** Returns the key unless the erasure that the caller knows of has destroyed it. */
function usable(
  created: SealingKey | undefined,
  { keysUntilMs = Number.NEGATIVE_INFINITY }: CreateOptions,
): SealingKey | undefined {
  return created && !isFencedKey(created.key.id, { keysUntilMs }) ? created : undefined
}

/** Returns a function that seals text with a key. */
export function sealWith({ id, seal }: DataKey): (text: string, context: string) => Sealed {
  return (text, context) => ({ key: id, bytes: seal(text, context) })
}
