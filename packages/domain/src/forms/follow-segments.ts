import type { EventTracked, IdentifyRequested } from '@nextvisit/contracts'
import { type FoldedEvent, type FoldedUser, profileFactsOf } from '../users/folded-user.ts'
import { countsRaisedBy } from '../users/count-key.ts'
import type { SegmentIndex } from './segments.ts'

/** The state of a user's computed segments. Instants in ms since the epoch. */
interface MembershipClock {
  /** The fingerprint of the project's segments that were used. Empty: there were none. */
  readonly fingerprint: string
  /** The instant that they were computed for. undefined: not computed yet. */
  readonly asOf: number | undefined
  /** The next instant at which time alone can change them. undefined: never. */
  readonly changesAt: number | undefined
}

/** The segments of a project, as its users follow them. */
export interface FollowedSegments {
  readonly index: SegmentIndex
  /** Some users were computed with other definitions, so each fact brings its user up to date. */
  readonly isMixed?: boolean
}

/** A user whose segments follow the user's facts. */
export interface FollowedUser {
  readonly segments: FollowedSegments
  /** undefined: the user was never identified. */
  profile?: FoldedUser | undefined
  clock: MembershipClock
  /** By count key (`countKeyOf`). */
  readonly events: Map<string, FoldedEvent>
  /** The instant when the user joined a segment, by the segment's id. */
  readonly memberships: Map<string, number>
  /** Anything but the events has changed. */
  isChanged: boolean
}

/** Returns whether a fact can change the segments of its user. */
export function mayChangeSegments(
  fact: EventTracked | IdentifyRequested,
  { index, isMixed }: FollowedSegments,
): boolean {
  if (isMixed) return true
  return fact.type === 'IdentifyRequested'
    ? index.segments.length > 0
    : countsRaisedBy(fact).some((key) => index.countKeys.has(key))
}

/**
 * Applies a change to a user and recomputes the segments as of when the fact was received (forms.md, Conditions). Segments
 * that were computed for a later instant keep that instant: a late fact does not turn them back.
 */
export function followChange(user: FollowedUser, received: string, change: () => void): void {
  const instant = Math.max(Date.parse(received), user.clock.asOf ?? -Infinity)
  if (hasCurrentSegments(user)) followTime(user, instant)
  change()
  if (user.segments.index.segments.length > 0 || !hasCurrentSegments(user)) computeSegments(user, instant)
}

/**
 * Applies the changes of a user's segments that time alone brings up to `instant`. Each is computed for the moment when it
 * was due, so the result does not depend on how often this runs.
 */
export function followTime(user: FollowedUser, instant: number): void {
  for (let { changesAt } = user.clock; changesAt !== undefined && changesAt <= instant; { changesAt } = user.clock) {
    computeSegments(user, changesAt)
  }
}

/** Computes the segments of an identified user at `instant`. */
export function computeSegments(user: FollowedUser, instant: number): void {
  const { profile, events, memberships } = user
  if (!profile) return
  const { index } = user.segments
  const { segments, changesAt } = index.membershipAt({ ...profileFactsOf(profile), events }, instant)
  for (const id of memberships.keys()) if (!segments.includes(id)) memberships.delete(id)
  for (const id of segments) if (!memberships.has(id)) memberships.set(id, instant)
  user.clock = { fingerprint: index.definitions, asOf: instant, changesAt }
  user.isChanged = true
}

/** Returns whether the user's segments were computed with the project's current definitions. */
export function hasCurrentSegments({ clock, segments }: FollowedUser): boolean {
  return clock.fingerprint === segments.index.definitions
}
