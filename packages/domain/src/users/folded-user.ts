import type { EventTracked, IdentifyRequested } from '@nextvisit/contracts'
import { countKeysOf } from './count-key.ts'
import { type EventHistory, withOccurrence } from './event-history.ts'
import { evolveProfileFacts, identifiedAt, NO_PROFILE, type ProfileFacts } from '../traits/evolve-profile-facts.ts'
import type { SizedTraits } from '../traits/trait-operations.ts'

/** A user as folded from identifies. Instants are ISO strings of one format, so they compare as text. */
export interface FoldedUser extends SizedTraits {
  readonly organization: string
  readonly project: string
  readonly userId: string
  readonly userName: string
  readonly country: string | null
  readonly device: Readonly<Record<string, string>>
  readonly firstSeenAt: string
  readonly lastSeenAt: string
  /** Number of operations that a limit dropped (decisions.md, Identify). */
  readonly droppedTraitOperations: number
}

/** The kept history of one event of one user, identified or not. */
export interface FoldedEvent extends EventHistory {
  /** Earliest and latest `occurredAt`, ISO. */
  readonly firstAt: string
  readonly lastAt: string
}

/**
 * Folds an identify with either kind of key. First and last seen are the earliest and the latest `received` (decisions.md,
 * Identify). An imported identify counts at its own time and does not move `lastSeenAt` of a known user (decisions.md,
 * Import).
 */
export function evolveFoldedUser(
  before: FoldedUser | undefined,
  fact: IdentifyRequested,
): { readonly user: FoldedUser; readonly skippedIncrements: number; readonly dropped: number } {
  const known = before ? profileFactsOf(before) : NO_PROFILE
  const { traits, traitBytes, device: facts, skippedIncrements, dropped } = evolveProfileFacts(known, fact)
  const { $countryCode, ...device } = facts
  const seenAt = identifiedAt(fact)
  const user: FoldedUser = {
    organization: fact.organization,
    project: fact.project,
    userId: fact.userId,
    userName: fact.userName,
    traits,
    traitBytes,
    country: $countryCode ?? null,
    device,
    firstSeenAt: earlier(before?.firstSeenAt, seenAt),
    lastSeenAt: fact.imported ? (before?.lastSeenAt ?? seenAt) : later(before?.lastSeenAt, seenAt),
    droppedTraitOperations: (before?.droppedTraitOperations ?? 0) + dropped.length,
  }
  return { user, skippedIncrements: skippedIncrements.length, dropped: dropped.length }
}

/** Returns the facts that operations change. The country is a device fact, although it has its own column. */
export function profileFactsOf({ traits, traitBytes, country, device }: FoldedUser): ProfileFacts {
  return { traits, traitBytes, device: country === null ? device : { ...device, $countryCode: country } }
}

/** Returns whether a fact changes its user's profile. An admin track event changes only the event's history. */
export function touchesProfile(fact: EventTracked | IdentifyRequested): boolean {
  return fact.type === 'IdentifyRequested' || fact.source === 'sdk'
}

/** Folds an event from the user's own browser or app. */
export function withLastSeen(before: FoldedUser, fact: EventTracked): FoldedUser {
  return { ...before, lastSeenAt: later(before.lastSeenAt, fact.received) }
}

/** Adds an occurrence to a user's events, identified or not. Returns the keys of the counts that it raises. */
export function countEvent(events: Map<string, FoldedEvent>, fact: EventTracked): readonly string[] {
  const { occurredAt, received } = fact
  const times = { occurredAt: Date.parse(occurredAt), received: Date.parse(received) }
  const keys = countKeysOf(fact)
  for (const key of keys) {
    const before = events.get(key)
    events.set(key, {
      ...withOccurrence(before, times, undefined),
      firstAt: earlier(before?.firstAt, occurredAt),
      lastAt: later(before?.lastAt, occurredAt),
    })
  }
  return keys
}

function earlier(instant: string | undefined, other: string): string {
  return instant !== undefined && instant < other ? instant : other
}

function later(instant: string | undefined, other: string): string {
  return instant !== undefined && instant > other ? instant : other
}
