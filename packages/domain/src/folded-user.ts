import type { EventTracked, IdentifyRequested } from '@nextvisit/contracts'
import { countKeysOf } from './forms/count-key.ts'
import { type EventHistory, withOccurrence } from './forms/user-state.ts'
import { applyIdentify, identifiedAt, NO_PROFILE, type ProfileFacts } from './traits/apply-identify.ts'
import type { SizedTraits } from './traits/trait-operations.ts'

/** What identifies have said of a user. Instants are ISO strings of one form, so they compare as text. */
export interface FoldedUser extends SizedTraits {
  readonly organization: string
  readonly project: string
  readonly userId: string
  readonly userName: string
  readonly country: string | null
  readonly device: Readonly<Record<string, string>>
  readonly firstSeenAt: string
  readonly lastSeenAt: string
  /** How many operations were dropped because of a limit (decisions.md, Identify). */
  readonly droppedTraitOperations: number
}

/** What is kept of one event of one user, identified or not. */
export interface FoldedEvent extends EventHistory {
  /** Least and greatest `occurredAt`, ISO. */
  readonly firstAt: string
  readonly lastAt: string
}

/**
 * The user after an identify with either key. First and last seen are the least and the greatest *received* (decisions.md,
 * Identify). An imported identify counts as of its own time, and does not move `lastSeenAt` of a known user (decisions.md,
 * Import).
 */
export function withIdentify(
  before: FoldedUser | undefined,
  fact: IdentifyRequested,
): { readonly user: FoldedUser; readonly skippedIncrements: number; readonly dropped: number } {
  const known = before ? profileFactsOf(before) : NO_PROFILE
  const { traits, traitBytes, device: facts, skippedIncrements, dropped } = applyIdentify(known, fact)
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

/** The facts that operations change. The country has a column of its own, but is a device fact like the others. */
export function profileFactsOf({ traits, traitBytes, country, device }: FoldedUser): ProfileFacts {
  return { traits, traitBytes, device: country === null ? device : { ...device, $countryCode: country } }
}

/** Whether a fact says something about its user. An admin track event does not: it touches nothing but the event. */
export function touchesProfile(fact: EventTracked | IdentifyRequested): boolean {
  return fact.type === 'IdentifyRequested' || fact.source === 'sdk'
}

/** The user after an event of their own browser or app. */
export function withSdkContact(before: FoldedUser, fact: EventTracked): FoldedUser {
  return { ...before, lastSeenAt: later(before.lastSeenAt, fact.received) }
}

/** One more occurrence of an event, for whatever user. Returns the counts that it raises. */
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
