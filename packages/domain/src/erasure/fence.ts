import { type AnyFormFact, type AnyUserFact, type ErasureRequested, isSegmentFact } from '@nextvisit/contracts'
import { uuidV5 } from '../ids.ts'

/**
 * Keys that were created until this long after the request are fenced too: the clocks of gateways differ, and a gateway that
 * has not heard of the erasure yet may create one.
 */
const CLOCK_SKEW_MS = 60_000

/** The last erasure of a user, as far as the rule needs it. */
export interface Fence {
  /** Offset of the `UserErased` in the user's partition of user-events, or of the `QueueErased` in that of form-events. */
  readonly offset: bigint
  /** On form-events: the offset of the `UserErased`. Absent: unknown. */
  readonly causeOffset?: bigint
  /** Keys that were created until this instant are destroyed, ms since the epoch. */
  readonly keysUntilMs: number
}

/**
 * Returns true if an erasure covers a record of its user (decision 18, The fence rule): it is before the fence, or a fenced
 * key sealed it. On form-events, it also covers later copies of the records of a form that was queued before. A changed membership is covered by its
 * cause alone: it has another publisher than the fence, so either may be first. The rule reads clear members only, so it does not depend
 * on keys that were destroyed or restored.
 */
export function isFenced(
  { offset, fact }: { readonly offset: bigint; readonly fact: AnyUserFact | AnyFormFact },
  fence: Fence,
): boolean {
  if (isSegmentFact(fact) && fence.causeOffset !== undefined) return isCausedBefore(fact, fence.causeOffset)
  return isFencedPlace({ offset, keyId: keyIdOf(fact) }, fence) || isQueuedBefore(fact, fence)
}

function isQueuedBefore(fact: AnyUserFact | AnyFormFact, { causeOffset }: Fence): boolean {
  if (fact.type === 'QueueErased' || causeOffset === undefined) return false
  return 'causeOffset' in fact && isCausedBefore(fact, causeOffset)
}

/** Returns true if the erasure at `offset` of user-events covers the cause of a fact. */
export function isCausedBefore(
  { causeOffset }: { readonly causeOffset?: number | undefined },
  offset: bigint,
): boolean {
  return causeOffset !== undefined && causeOffset < offset
}

/** Applies the rule of {@link isFenced} to a record whose bytes are not in memory. `keyId`: {@link keyIdOf} it. */
export function isFencedPlace(
  { offset, keyId }: { readonly offset: bigint; readonly keyId: string | undefined },
  fence: Fence,
): boolean {
  return offset < fence.offset || (keyId !== undefined && isFencedKey(keyId, fence))
}

/** Returns the id of the key that sealed the personal members of a record; undefined: nothing is sealed. */
export function keyIdOf(fact: AnyUserFact | AnyFormFact): string | undefined {
  return 'sealed' in fact ? fact.sealed?.key : undefined
}

/** Returns true if an erasure destroys a key. */
export function isFencedKey(keyId: string, { keysUntilMs }: Pick<Fence, 'keysUntilMs'>): boolean {
  // Most users were never erased, and each record asks.
  return keysUntilMs !== Number.NEGATIVE_INFINITY && keyTimeMs(keyId) <= keysUntilMs
}

/** Returns the id of the `UserErased` of a user: an erasure may publish it twice. */
export function userErasedIdOf(erasureId: string, userId: string): string {
  return uuidV5(erasureId, userId)
}

/** Returns the instant from which the fences of a request follow, ms since the epoch. No known key of its users is later. */
export function fencedFromMs({ received, newestKeyAt }: Pick<ErasureRequested, 'received' | 'newestKeyAt'>): number {
  return Math.max(Date.parse(received), newestKeyAt === undefined ? 0 : Date.parse(newestKeyAt))
}

/**
 * Returns `keysUntil` of an erasure. It is later than that of the previous erasure of the user, whose later keys may be in the
 * future. `fromMs`: {@link fencedFromMs} the request.
 */
export function keysUntilMsOf(fromMs: number, previousKeysUntilMs = Number.NEGATIVE_INFINITY): number {
  return Math.max(fromMs, previousKeysUntilMs) + CLOCK_SKEW_MS
}

/** Returns the instant that a new key of a user must have, so that no erasure covers it. */
export function newKeyTimeMs(nowMs: number, keysUntilMs = Number.NEGATIVE_INFINITY): number {
  return Math.max(nowMs, keysUntilMs + 1)
}

/** Returns the instant of a UUIDv7, ms since the epoch. An id of another version counts as old, so every fence covers it. */
export function keyTimeMs(keyId: string): number {
  return keyId[14] === '7' ? Number.parseInt(keyId.slice(0, 8) + keyId.slice(9, 13), 16) : 0
}
