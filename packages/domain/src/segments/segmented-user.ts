import type { ActivityFact, AnswerGiven, SegmentCause } from '@nextvisit/contracts'
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

/** A change of a user's membership of a segment. */
export interface SegmentChange {
  readonly type: 'SegmentEntered' | 'SegmentLeft'
  readonly segmentId: string
  /** In ms since the epoch. */
  readonly at: number
  readonly cause: SegmentCause
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
 * back. Returns the changes of the user's memberships, in order: first those that time or another definition has made without the
 * fact.
 */
export function changeAndRecomputeSegments(
  user: SegmentedUser,
  fact: ActivityFact | AnswerGiven,
  change: () => void,
): readonly SegmentChange[] {
  if (!mayChangeSegments(fact, user.segments)) {
    change()
    return NO_CHANGES
  }
  const instant = Math.max(Date.parse(fact.received), user.computed.asOf ?? -Infinity)
  const before = hasCurrentSegments(user)
    ? recomputeSegmentsUntil(user, instant)
    : recomputeSegments(user, instant, 'definition')
  change()
  if (user.segments.index.segments.length === 0 && hasCurrentSegments(user)) return before
  return joined(before, recomputeSegments(user, instant, 'record'))
}

/**
 * Applies the changes of a user's segments that time alone brings up to `instant`. Each is computed for the moment when it
 * was due, so the result does not depend on how often this runs. Returns the changes of the user's memberships, in order.
 */
export function recomputeSegmentsUntil(user: SegmentedUser, instant: number): readonly SegmentChange[] {
  let changes = NO_CHANGES
  for (
    let { changesAt } = user.computed;
    changesAt !== undefined && changesAt <= instant;
    { changesAt } = user.computed
  ) {
    changes = joined(changes, recomputeSegments(user, changesAt, 'time'))
  }
  return changes
}

/**
 * Computes the segments of a user at `instant`. A user who was never identified has none. Returns the changes of the user's
 * memberships.
 */
export function recomputeSegments(user: SegmentedUser, instant: number, cause: SegmentCause): readonly SegmentChange[] {
  if (user.firstSeenAt === undefined) return NO_CHANGES
  const { memberships } = user
  const { index } = user.segments
  const { segments, changesAt } = index.membershipAt(user, instant)
  const current = new Set(segments)
  const left = [...memberships.keys()].filter((id) => !current.has(id))
  const entered = segments.filter((id) => !memberships.has(id))
  for (const id of left) memberships.delete(id)
  for (const id of entered) memberships.set(id, instant)
  user.computed = { fingerprint: index.fingerprint, asOf: instant, changesAt }
  user.isChanged = true
  if (left.length === 0 && entered.length === 0) return NO_CHANGES
  return [
    ...left.map((segmentId) => ({ type: 'SegmentLeft', segmentId, at: instant, cause }) as const),
    ...entered.map((segmentId) => ({ type: 'SegmentEntered', segmentId, at: instant, cause }) as const),
  ]
}

/** Returns whether the user's segments were computed with the project's current fingerprint. */
export function hasCurrentSegments({ computed, segments }: SegmentedUser): boolean {
  return computed.fingerprint === segments.index.fingerprint
}

const NO_CHANGES: readonly SegmentChange[] = []

/** Most records change no membership, and copy no list. */
function joined(before: readonly SegmentChange[], after: readonly SegmentChange[]): readonly SegmentChange[] {
  if (before.length === 0) return after
  return after.length === 0 ? before : [...before, ...after]
}
