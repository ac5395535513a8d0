import type { EventTracked, IdentifyRequested } from '@nextvisit/contracts'
import { type FoldedEvent, type FoldedUser, profileFactsOf } from '../folded-user.ts'
import { countsRaisedBy } from './count-key.ts'
import type { SegmentIndex } from './segments.ts'

/** What a user's segments were computed with, and for when. Instants in ms. */
export interface MembershipClock {
  /** Of the project's segments; empty: none. */
  readonly fingerprint: string
  /** Absent: not computed yet. */
  readonly asOf: number | undefined
  /** The next instant at which time alone may change them; absent: never. */
  readonly changesAt: number | undefined
}

/** A project's segments, as its users follow them. */
export interface FollowedSegments {
  readonly index: SegmentIndex
  /** Some users were computed with others: each fact brings its user up to date. */
  readonly isMixed?: boolean
}

/** A user whose segments follow what is known of them. */
export interface FollowedUser {
  readonly segments: FollowedSegments
  /** Absent: nobody has identified them. */
  profile?: FoldedUser | undefined
  clock: MembershipClock
  /** By what is counted: see `countKeyOf`. */
  readonly events: Map<string, FoldedEvent>
  /** Since when they are in a segment, ms, by its id. */
  readonly memberships: Map<string, number>
  /** Whether anything but the events has changed. */
  isChanged: boolean
}

/** Whether a fact may change the segments that its user is in. */
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
 * A user's segments follow what a fact changes, as of when the fact was received (forms.md, Conditions). Where they were
 * computed for a later instant already, that instant stands: a late fact does not turn them back.
 */
export function followChange(user: FollowedUser, received: string, change: () => void): void {
  const instant = Math.max(Date.parse(received), user.clock.asOf ?? -Infinity)
  if (hasCurrentSegments(user)) followTime(user, instant)
  change()
  if (user.segments.index.segments.length > 0 || !hasCurrentSegments(user)) computeSegments(user, instant)
}

/**
 * What time alone does to a user's segments up to `instant`. Each change happens as of the moment when it was due, so the
 * result does not depend on how often this runs.
 */
export function followTime(user: FollowedUser, instant: number): void {
  for (let { changesAt } = user.clock; changesAt !== undefined && changesAt <= instant; { changesAt } = user.clock) {
    computeSegments(user, changesAt)
  }
}

/** The segments that an identified user is in at `instant`. */
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

/** Whether the user's segments were computed with those that the project has now. */
export function hasCurrentSegments({ clock, segments }: FollowedUser): boolean {
  return clock.fingerprint === segments.index.definitions
}
