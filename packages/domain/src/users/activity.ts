import type { EventTracked, IdentifyRequested, RequestFact } from '@nextvisit/contracts'
import { countKeysOf } from '../counts/count-key.ts'
import { type EventHistory, withOccurrence } from '../counts/event-history.ts'
import { applyIdentify, identifiedAt } from './apply-identify.ts'
import type { Profile } from '../traits/profile.ts'

/** A user as the rules of segments and forms read it, folded from the user's records. Instants in ms since the epoch. */
export interface UserActivity {
  profile: Profile
  /** The instant of the first admitted identify. undefined: there was none, because events were admitted unchecked. */
  firstSeenAt?: number | undefined
  sessionStartedAt?: number | undefined
  lastSdkContactAt?: number | undefined
  /** By count key (`countKeyOf`). */
  readonly events: Map<string, EventHistory>
}

const SESSION_GAP_MS = 30 * 60_000

/** Folds an identify. Returns whether it is a visit that starts a session. An imported identify never is. */
export function evolveByIdentify(user: UserActivity, fact: IdentifyRequested): boolean {
  const seenAt = Date.parse(identifiedAt(fact))
  user.profile = applyIdentify(user.profile, fact).profile
  user.firstSeenAt = Math.min(user.firstSeenAt ?? seenAt, seenAt)
  if (fact.imported || fact.source === 'admin') return false
  const isFirst = startsSession(user, seenAt)
  if (isFirst) user.sessionStartedAt = seenAt
  evolveBySdkContact(user, fact)
  return isFirst
}

/** Returns whether a visit starts a session: the first ever, or 30 minutes or more after the last SDK contact (forms.md). */
export function startsSession({ sessionStartedAt, lastSdkContactAt }: UserActivity, visitAt: number): boolean {
  if (sessionStartedAt === undefined || lastSdkContactAt === undefined) return true
  return visitAt - lastSdkContactAt >= SESSION_GAP_MS
}

/**
 * Folds a tracked event of any age. Only an event from an SDK key counts for the session. `countKeys`: the counts that it
 * raises, by default all that its record names.
 */
export function evolveByEvent(user: UserActivity, fact: EventTracked, countKeys = countKeysOf(fact)): void {
  const session = fact.source === 'sdk' ? user.sessionStartedAt : undefined
  const times = { occurredAt: Date.parse(fact.occurredAt), received: Date.parse(fact.received) }
  for (const key of countKeys) user.events.set(key, withOccurrence(user.events.get(key), times, session))
  evolveBySdkContact(user, fact)
}

/** Folds the SDK contact of a record, which prolongs the session. */
export function evolveBySdkContact(user: UserActivity, { source, received }: RequestFact): void {
  if (source !== 'sdk') return
  const receivedAt = Date.parse(received)
  user.lastSdkContactAt = Math.max(user.lastSdkContactAt ?? receivedAt, receivedAt)
}
