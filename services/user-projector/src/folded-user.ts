import type { EventTracked, IdentifyRequested, TraitValue } from '@nextvisit/contracts'
import { applyImportedOperations, applyTraitOperations } from '@nextvisit/domain'

/** A row of `users`. Instants are ISO strings of one form, so they compare as text. */
export interface FoldedUser {
  readonly organization: string
  readonly project: string
  readonly userId: string
  readonly userName: string
  readonly traits: ReadonlyMap<string, TraitValue>
  readonly country: string | null
  readonly device: Readonly<Record<string, string>>
  readonly firstSeenAt: string
  readonly lastSeenAt: string
}

/**
 * The user after an identify, by either key: operations applied, device facts laid over what was there, first and last
 * seen the least and greatest *received* (decisions.md, Identify).
 */
export function identified(
  before: FoldedUser | undefined,
  fact: IdentifyRequested,
): { readonly user: FoldedUser; readonly skippedIncrements: number } {
  const { traits, skippedIncrements } = applyTraitOperations(before?.traits ?? new Map(), fact.operations)
  const { $countryCode, ...device } = fact.device
  const user: FoldedUser = {
    organization: fact.organization,
    project: fact.project,
    userId: fact.userId,
    userName: fact.userName,
    traits,
    country: $countryCode ?? before?.country ?? null,
    device: { ...before?.device, ...device },
    firstSeenAt: earlier(before?.firstSeenAt, fact.received),
    lastSeenAt: later(before?.lastSeenAt, fact.received),
  }
  return { user, skippedIncrements: skippedIncrements.length }
}

/**
 * The user after an imported identify, who may be new: traits and device facts only where nothing is known, first seen
 * the least of both. Last seen stays; a new user's is all there is to say (decisions.md, Import).
 */
export function imported(
  before: FoldedUser | undefined,
  fact: IdentifyRequested,
): { readonly user: FoldedUser; readonly skippedIncrements: number } {
  const { organization, project, userId, userName, operations, received, occurredAt = received } = fact
  const { traits, skippedIncrements } = applyImportedOperations(before?.traits ?? new Map(), operations)
  const { $countryCode, ...device } = fact.device
  const user: FoldedUser = {
    organization,
    project,
    userId,
    userName,
    traits,
    country: before?.country ?? $countryCode ?? null,
    device: { ...device, ...before?.device },
    firstSeenAt: earlier(before?.firstSeenAt, occurredAt),
    lastSeenAt: before?.lastSeenAt ?? occurredAt,
  }
  return { user, skippedIncrements: skippedIncrements.length }
}

/** The user after an event of their own browser or app. An admin track event touches nothing here. */
export function seen(before: FoldedUser, fact: EventTracked): FoldedUser {
  return { ...before, lastSeenAt: later(before.lastSeenAt, fact.received) }
}

export function earlier(instant: string | undefined, other: string): string {
  return instant !== undefined && instant < other ? instant : other
}

export function later(instant: string | undefined, other: string): string {
  return instant !== undefined && instant > other ? instant : other
}
