import type { DeviceFacts, EventTracked, IdentifyRequested, TraitValue } from '@nextvisit/contracts'
import { applyIdentify, identifiedAt } from '../traits/apply-identify.ts'
import { countKeysOf } from './count-key.ts'
import { type EventHistory, startsSession, withOccurrence } from './user-state.ts'

/** The part of a `UserState` that is folded from the user's own records: everything but the queue. */
export interface UserActivity {
  traits: ReadonlyMap<string, TraitValue>
  /** What the traits count together: see `traitBytesOf`. */
  traitBytes: number
  device: DeviceFacts
  firstSeenAt?: number | undefined
  sessionStartedAt?: number | undefined
  lastSdkContactAt?: number | undefined
  /** By what is counted: see `countKeyOf`. */
  readonly events: Map<string, EventHistory>
}

/** The user after an identify. Returns whether it is a visit that starts a session; an imported one never is. */
export function foldIdentify(user: UserActivity, fact: IdentifyRequested): boolean {
  const { traits, traitBytes, device } = applyIdentify(user, fact)
  const seenAt = Date.parse(identifiedAt(fact))
  user.traits = traits
  user.traitBytes = traitBytes
  user.device = device
  user.firstSeenAt = Math.min(user.firstSeenAt ?? seenAt, seenAt)
  if (fact.imported || fact.source === 'admin') return false
  const isFirst = startsSession(user, seenAt)
  if (isFirst) user.sessionStartedAt = seenAt
  foldSdkContact(user, fact)
  return isFirst
}

/**
 * The user after a tracked event, however old. Only an event from an SDK key counts for the session. `countKeys`: what it
 * raises, by default everything that its record names.
 */
export function foldEvent(user: UserActivity, fact: EventTracked, countKeys = countKeysOf(fact)): void {
  const session = fact.source === 'sdk' ? user.sessionStartedAt : undefined
  const times = { occurredAt: Date.parse(fact.occurredAt), received: Date.parse(fact.received) }
  for (const key of countKeys) user.events.set(key, withOccurrence(user.events.get(key), times, session))
  foldSdkContact(user, fact)
}

/** What a tracked event changes beside counts: an SDK contact prolongs the session. */
export function foldSdkContact(user: UserActivity, { source, received }: EventTracked | IdentifyRequested): void {
  if (source !== 'sdk') return
  const receivedAt = Date.parse(received)
  user.lastSdkContactAt = Math.max(user.lastSdkContactAt ?? receivedAt, receivedAt)
}
