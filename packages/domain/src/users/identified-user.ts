import type { EventTracked, IdentifyRequested, RequestFact, UserRef } from '@nextvisit/contracts'
import { countKeysOf } from '../counts/count-key.ts'
import { type EventHistory, withOccurrence } from '../counts/event-history.ts'
import { applyIdentify, identifiedAt } from './apply-identify.ts'
import { EMPTY_PROFILE, type Profile } from '../traits/profile.ts'

/** A user as folded from identifies. Instants are ISO strings of one format, so they compare as text. */
export interface IdentifiedUser extends UserRef, Profile {
  readonly userName: string
  readonly firstSeenAt: string
  readonly lastSeenAt: string
  /** Number of operations that a limit dropped (decisions.md, Identify). */
  readonly droppedTraitOperations: number
}

/** An event's history with its earliest and latest `occurredAt`, ISO. */
export type DatedEventHistory = EventHistory & { readonly firstAt: string; readonly lastAt: string }

/**
 * Folds an identify with either kind of key. First and last seen are the earliest and the latest `received` (decisions.md,
 * Identify). An imported identify counts at its own time and does not move `lastSeenAt` of a known user (decisions.md,
 * Import).
 */
export function identifyUser(
  before: IdentifiedUser | undefined,
  fact: IdentifyRequested,
): { readonly user: IdentifiedUser; readonly skippedIncrements: number; readonly dropped: number } {
  const { profile, skippedIncrements, dropped } = applyIdentify(before ?? EMPTY_PROFILE, fact)
  const seenAt = identifiedAt(fact)
  const user: IdentifiedUser = {
    organization: fact.organization,
    project: fact.project,
    userId: fact.userId,
    userName: fact.userName,
    traits: profile.traits,
    traitBytes: profile.traitBytes,
    device: profile.device,
    firstSeenAt: earlier(before?.firstSeenAt, seenAt),
    lastSeenAt: fact.imported ? (before?.lastSeenAt ?? seenAt) : later(before?.lastSeenAt, seenAt),
    droppedTraitOperations: (before?.droppedTraitOperations ?? 0) + dropped.length,
  }
  return { user, skippedIncrements: skippedIncrements.length, dropped: dropped.length }
}

/** Returns whether a fact changes its user's profile. An admin track event changes only the event's history. */
export function touchesProfile(fact: RequestFact): boolean {
  return fact.type === 'IdentifyRequested' || fact.source === 'sdk'
}

/** Folds an event from the user's own browser or app. */
export function withLastSeen(before: IdentifiedUser, fact: EventTracked): IdentifiedUser {
  return { ...before, lastSeenAt: later(before.lastSeenAt, fact.received) }
}

/** Adds an occurrence to a user's events, identified or not. Returns the keys of the counts that it raises. */
export function countEvent(events: Map<string, DatedEventHistory>, fact: EventTracked): readonly string[] {
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
