import type { DeviceFacts, EventTracked, IdentifyRequested, TraitValue } from '@nextvisit/contracts'
import { applyImportedOperations, applyTraitOperations } from '../trait-operations.ts'
import { type EventHistory, startsSession, withOccurrence } from './user-state.ts'

/** The half of a {@link UserState} that the user's own records make: all but the queue and its clocks. */
export interface UserActivity {
  traits: ReadonlyMap<string, TraitValue>
  device: DeviceFacts
  firstSeenAt?: number | undefined
  sessionStartedAt?: number | undefined
  lastSdkContactAt?: number | undefined
  /** By slug. */
  readonly events: Map<string, EventHistory>
}

/** The user after an identify. Returns whether it is a visit that starts a session. */
export function foldIdentify(user: UserActivity, fact: IdentifyRequested): boolean {
  if (fact.imported) return foldImportedIdentify(user, fact)
  const received = Date.parse(fact.received)
  user.traits = applyTraitOperations(user.traits, fact.operations).traits
  user.device = { ...user.device, ...fact.device }
  user.firstSeenAt = Math.min(user.firstSeenAt ?? received, received)
  if (fact.source === 'admin') return false
  const isFirst = startsSession(user, received)
  if (isFirst) user.sessionStartedAt = received
  foldSdkContact(user, fact)
  return isFirst
}

/** Fills in what is not known (decisions.md, Import); never a visit. */
function foldImportedIdentify(
  user: UserActivity,
  { operations, device, received, occurredAt }: IdentifyRequested,
): false {
  const at = Date.parse(occurredAt ?? received)
  user.traits = applyImportedOperations(user.traits, operations).traits
  user.device = { ...device, ...user.device }
  user.firstSeenAt = Math.min(user.firstSeenAt ?? at, at)
  return false
}

/** The user after a tracked event, however old. Only one of their own browser or app counts for the session. */
export function foldEvent(user: UserActivity, fact: EventTracked): void {
  const session = fact.source === 'sdk' ? user.sessionStartedAt : undefined
  user.events.set(fact.slug, withOccurrence(user.events.get(fact.slug), Date.parse(fact.occurredAt), session))
  foldSdkContact(user, fact)
}

/** All that a tracked event changes beside the count of its slug: a session lasts. */
export function foldSdkContact(user: UserActivity, { source, received }: EventTracked | IdentifyRequested): void {
  if (source !== 'sdk') return
  const receivedAt = Date.parse(received)
  user.lastSdkContactAt = Math.max(user.lastSdkContactAt ?? receivedAt, receivedAt)
}
