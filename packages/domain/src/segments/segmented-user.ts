import type { ActivityFact, AnswerGiven } from '@nextvisit/contracts'
import { countsRaisedBy } from '../counts/count-key.ts'
import type { User } from '../users/user.ts'
import type { SegmentIndex } from './segments.ts'

/** A user with the segments that the user is a member of. Instants in ms since the epoch. */
export interface SegmentedUser extends User {
  /** The segments of the project. `isMixed`: some users have another fingerprint, so each fact brings its user up to date. */
  readonly segments: { readonly index: SegmentIndex; readonly isMixed?: boolean }
  /** The last computation of the user's segments. */
  computed: {
    /** The fingerprint of the project's segments that were used. Empty: there were none. */
    readonly fingerprint: string
    /** The instant that they were computed for. undefined: not computed yet. */
    readonly asOf: number | undefined
    /** The next instant at which time alone can change them. undefined: never. */
    readonly changesAt: number | undefined
  }
  /** The instant when the user joined a segment, by the segment's id. */
  readonly memberships: Map<string, number>
  /** Anything but the events has changed. */
  isChanged: boolean
}

/** Returns whether a fact can change the segments of its user. */
export function mayChangeSegments(
  fact: ActivityFact | AnswerGiven,
  { index, isMixed }: SegmentedUser['segments'],
): boolean {
  if (isMixed) return true
  // Of another form, too: a user's first answers may be dropped for it.
  if (fact.type === 'AnswerGiven') return index.answeredForms.size > 0
  return fact.type === 'IdentifyRequested'
    ? index.segments.length > 0
    : countsRaisedBy(fact).some((key) => index.countKeys.has(key))
}

/**
 * Makes the change of a fact to its user. If it can change segments, recomputes them as of when the fact was received
 * (forms.md, Conditions). Segments that were computed for a later instant keep that instant: a late fact does not turn them
 * back.
 */
export function changeAndRecomputeSegments(
  user: SegmentedUser,
  fact: ActivityFact | AnswerGiven,
  change: () => void,
): void {
  if (!mayChangeSegments(fact, user.segments)) return change()
  const instant = Math.max(Date.parse(fact.received), user.computed.asOf ?? -Infinity)
  if (hasCurrentSegments(user)) recomputeSegmentsUntil(user, instant)
  change()
  if (user.segments.index.segments.length > 0 || !hasCurrentSegments(user)) recomputeSegments(user, instant)
}

/**
 * Applies the changes of a user's segments that time alone brings up to `instant`. Each is computed for the moment when it
 * was due, so the result does not depend on how often this runs.
 */
export function recomputeSegmentsUntil(user: SegmentedUser, instant: number): void {
  for (
    let { changesAt } = user.computed;
    changesAt !== undefined && changesAt <= instant;
    { changesAt } = user.computed
  ) {
    recomputeSegments(user, changesAt)
  }
}

/** Computes the segments of a user at `instant`. A user who was never identified has none. */
export function recomputeSegments(user: SegmentedUser, instant: number): void {
  if (user.firstSeenAt === undefined) return
  const { memberships } = user
  const { index } = user.segments
  const { segments, changesAt } = index.membershipAt(user, instant)
  const current = new Set(segments)
  for (const id of memberships.keys()) if (!current.has(id)) memberships.delete(id)
  for (const id of segments) if (!memberships.has(id)) memberships.set(id, instant)
  user.computed = { fingerprint: index.fingerprint, asOf: instant, changesAt }
  user.isChanged = true
}

/** Returns whether the user's segments were computed with the project's current fingerprint. */
export function hasCurrentSegments({ computed, segments }: SegmentedUser): boolean {
  return computed.fingerprint === segments.index.fingerprint
}
