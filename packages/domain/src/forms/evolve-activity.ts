import type { DeviceFacts, EventTracked, IdentifyRequested, TraitValue } from '@nextvisit/contracts'
import { evolveProfileFacts, identifiedAt } from '../traits/evolve-profile-facts.ts'
import { countKeysOf } from '../users/count-key.ts'
import { startsSession } from './user-state.ts'
import { type EventHistory, withOccurrence } from '../users/event-history.ts'

/** The part of a `UserState` that is folded from the user's records: everything but the queue. */
export interface UserActivity {
  traits: ReadonlyMap<string, TraitValue>
  /** Total size of the traits in bytes (`traitBytesOf`). */
  traitBytes: number
  device: DeviceFacts
  firstSeenAt?: number | undefined
  sessionStartedAt?: number | undefined
  lastSdkContactAt?: number | undefined
  /** By count key (`countKeyOf`). */
  readonly events: Map<string, EventHistory>
}

/** Folds an identify. Returns whether it is a visit that starts a session. An imported identify never is. */
export function evolveActivityByIdentify(user: UserActivity, fact: IdentifyRequested): boolean {
  const { traits, traitBytes, device } = evolveProfileFacts(user, fact)
  const seenAt = Date.parse(identifiedAt(fact))
  user.traits = traits
  user.traitBytes = traitBytes
  user.device = device
  user.firstSeenAt = Math.min(user.firstSeenAt ?? seenAt, seenAt)
  if (fact.imported || fact.source === 'admin') return false
  const isFirst = startsSession(user, seenAt)
  if (isFirst) user.sessionStartedAt = seenAt
  evolveActivityBySdkContact(user, fact)
  return isFirst
}

/**
 * Folds a tracked event of any age. Only an event from an SDK key counts for the session. `countKeys`: the counts that it
 * raises, by default all that its record names.
 */
export function evolveActivityByEvent(user: UserActivity, fact: EventTracked, countKeys = countKeysOf(fact)): void {
  const session = fact.source === 'sdk' ? user.sessionStartedAt : undefined
  const times = { occurredAt: Date.parse(fact.occurredAt), received: Date.parse(fact.received) }
  for (const key of countKeys) user.events.set(key, withOccurrence(user.events.get(key), times, session))
  evolveActivityBySdkContact(user, fact)
}

/** Folds the SDK contact of a record, which prolongs the session. */
export function evolveActivityBySdkContact(
  user: UserActivity,
  { source, received }: EventTracked | IdentifyRequested,
): void {
  if (source !== 'sdk') return
  const receivedAt = Date.parse(received)
  user.lastSdkContactAt = Math.max(user.lastSdkContactAt ?? receivedAt, receivedAt)
}
