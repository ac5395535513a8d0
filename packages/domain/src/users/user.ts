import type { EventTracked, IdentifyRequested, ActivityFact } from '@nextvisit/contracts'
import { countKeysOf } from '../counts/count-key.ts'
import { type EventHistory, withOccurrence } from '../counts/event-history.ts'
import type { Profile, ProfileChange } from '../traits/profile.ts'
import { withinDeviceLimits } from '../traits/trait-limits.ts'
import { applyImportedOperations, applyTraitOperations } from '../traits/trait-operations.ts'
import type { AnswerStates } from './answer-state.ts'

/**
 * A user, folded from the user's records. Instants in ms since the epoch. A projection stores only the members that it
 * reads.
 */
export interface User {
  profile: Profile
  /**
   * The instant of the first admitted identify. undefined: the user was never identified, because events were admitted
   * unchecked.
   */
  firstSeenAt?: number | undefined
  /** The instant of the last identify or SDK event. undefined: the user was never identified. */
  lastSeenAt?: number | undefined
  sessionStartedAt?: number | undefined
  lastSdkContactAt?: number | undefined
  /** By count key (`countKeyOf`). */
  readonly events: Map<string, EventHistory>
  answers: AnswerStates
}

const SESSION_GAP_MS = 30 * 60_000

/**
 * Applies an identify: its operations, and its device facts over the known ones (decisions.md, Identify). An imported
 * identify counts at its own time, fills in only unknown facts, and does not move `lastSeenAt` of a known user
 * (decisions.md, Import). Operations that would exceed a limit are dropped.
 */
export function applyIdentify(user: User, fact: IdentifyRequested): Omit<ProfileChange, 'profile'> {
  const { operations, device, imported, occurredAt, received } = fact
  const { profile } = user
  const { kept, dropped: droppedFacts } = withinDeviceLimits(device)
  const change = imported ? applyImportedOperations(profile, operations) : applyTraitOperations(profile, operations)
  const known = imported ? { ...kept, ...profile.device } : { ...profile.device, ...kept }
  const seenAt = Date.parse(imported ? (occurredAt ?? received) : received)
  user.profile = { ...change.profile, device: known }
  user.firstSeenAt = Math.min(user.firstSeenAt ?? seenAt, seenAt)
  user.lastSeenAt = imported ? (user.lastSeenAt ?? seenAt) : later(user.lastSeenAt, seenAt)
  return { skipped: change.skipped, dropped: [...change.dropped, ...droppedFacts] }
}

/**
 * Applies an identify to the user's session. Returns whether it is a visit that starts one: the first ever, or 30 minutes or
 * more after the last SDK contact (forms.md). An admin's or an imported identify is not a visit.
 */
export function applyVisit(user: User, fact: IdentifyRequested): boolean {
  if (fact.imported || fact.source === 'admin') return false
  const visitAt = Date.parse(fact.received)
  const { sessionStartedAt, lastSdkContactAt = -Infinity } = user
  const startsSession = sessionStartedAt === undefined || visitAt - lastSdkContactAt >= SESSION_GAP_MS
  if (startsSession) user.sessionStartedAt = visitAt
  applySdkContact(user, fact)
  return startsSession
}

/**
 * Applies a tracked event of any age, also of a user without an identify. Only an event from an SDK key counts for the
 * session. `countKeys`: the counts that it raises, by default all that its record names.
 */
export function applyEvent(user: User, fact: EventTracked, countKeys = countKeysOf(fact)): void {
  const session = fact.source === 'sdk' ? user.sessionStartedAt : undefined
  const { evaluateTriggers: isEvaluated } = fact
  const one = { occurredAt: Date.parse(fact.occurredAt), received: Date.parse(fact.received), isEvaluated }
  for (const key of countKeys) user.events.set(key, withOccurrence(user.events.get(key), one, session))
  applySdkContact(user, fact)
}

/** Applies the SDK contact of a record, which prolongs the session. An identified user was seen. */
export function applySdkContact(user: User, { source, received }: ActivityFact): void {
  if (source !== 'sdk') return
  const receivedAt = Date.parse(received)
  user.lastSdkContactAt = later(user.lastSdkContactAt, receivedAt)
  if (user.lastSeenAt !== undefined) user.lastSeenAt = later(user.lastSeenAt, receivedAt)
}

function later(instant: number | undefined, other: number): number {
  return Math.max(instant ?? other, other)
}
