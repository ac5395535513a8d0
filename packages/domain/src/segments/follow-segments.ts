import type { RequestFact } from '@nextvisit/contracts'
import { countsRaisedBy } from '../counts/count-key.ts'
import type { DatedEventHistory, IdentifiedUser } from '../users/identified-user.ts'
import type { SegmentIndex } from './segments.ts'

/** A user whose segments follow the user's facts. Instants in ms since the epoch. */
export interface SegmentedUser {
  /** The segments of the project. `isMixed`: some users have another fingerprint, so each fact brings its user up to date. */
  readonly segments: { readonly index: SegmentIndex; readonly isMixed?: boolean }
  /** undefined: the user was never identified. */
  profile?: IdentifiedUser | undefined
  /** The last computation of the user's segments. */
  computed: {
    /** The fingerprint of the project's segments that were used. Empty: there were none. */
    readonly fingerprint: string
    /** The instant that they were computed for. undefined: not computed yet. */
    readonly asOf: number | undefined
    /** The next instant at which time alone can change them. undefined: never. */
    readonly changesAt: number | undefined
  }
  /** By count key (`countKeyOf`). */
  readonly events: Map<string, DatedEventHistory>
  /** The instant when the user joined a segment, by the segment's id. */
  readonly memberships: Map<string, number>
  /** Anything but the events has changed. */
  isChanged: boolean
}

/** Returns whether a fact can change the segments of its user. */
export function mayChangeSegments(fact: RequestFact, { index, isMixed }: SegmentedUser['segments']): boolean {
  if (isMixed) return true
  return fact.type === 'IdentifyRequested'
    ? index.segments.length > 0
    : countsRaisedBy(fact).some((key) => index.countKeys.has(key))
}

/**
 * Applies a change to a user and recomputes the segments as of when the fact was received (forms.md, Conditions). Segments
 * that were computed for a later instant keep that instant: a late fact does not turn them back.
 */
export function followChange(user: SegmentedUser, received: string, change: () => void): void {
  const instant = Math.max(Date.parse(received), user.computed.asOf ?? -Infinity)
  if (hasCurrentSegments(user)) followTime(user, instant)
  change()
  if (user.segments.index.segments.length > 0 || !hasCurrentSegments(user)) computeSegments(user, instant)
}

/**
 * Applies the changes of a user's segments that time alone brings up to `instant`. Each is computed for the moment when it
 * was due, so the result does not depend on how often this runs.
 */
export function followTime(user: SegmentedUser, instant: number): void {
  for (
    let { changesAt } = user.computed;
    changesAt !== undefined && changesAt <= instant;
    { changesAt } = user.computed
  ) {
    computeSegments(user, changesAt)
  }
}

/** Computes the segments of an identified user at `instant`. */
export function computeSegments(user: SegmentedUser, instant: number): void {
  const { profile, events, memberships } = user
  if (!profile) return
  const { index } = user.segments
  const { segments, changesAt } = index.membershipAt({ profile, events }, instant)
  for (const id of memberships.keys()) if (!segments.includes(id)) memberships.delete(id)
  for (const id of segments) if (!memberships.has(id)) memberships.set(id, instant)
  user.computed = { fingerprint: index.fingerprint, asOf: instant, changesAt }
  user.isChanged = true
}

/** Returns whether the user's segments were computed with the project's current fingerprint. */
export function hasCurrentSegments({ computed, segments }: SegmentedUser): boolean {
  return computed.fingerprint === segments.index.fingerprint
}
