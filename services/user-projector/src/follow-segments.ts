import { profileFactsOf } from './folded-user.ts'
import type { DraftUser } from './user-draft.ts'

/**
 * A user's segments follow what a fact changes, as of when the fact was received (forms.md, Conditions). Where they were
 * computed for a later instant already, that instant stands: a late fact does not turn them back.
 */
export function changeUser(user: DraftUser, received: string, change: () => void): void {
  const instant = Math.max(Date.parse(received), user.clock.asOf ?? -Infinity)
  if (isCurrent(user)) letTimePass(user, instant)
  change()
  if (user.segments.index.segments.length > 0 || !isCurrent(user)) computeSegments(user, instant)
}

/**
 * What time alone does to a user's segments up to `instant`. Each change happens as of the moment when it was due, so the
 * result does not depend on how often this runs.
 */
export function letTimePass(user: DraftUser, instant: number): void {
  for (let { changesAt } = user.clock; changesAt !== undefined && changesAt <= instant; { changesAt } = user.clock) {
    computeSegments(user, changesAt)
  }
}

/** The segments that an identified user is in at `instant`. */
export function computeSegments(user: DraftUser, instant: number): void {
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
export function isCurrent({ clock, segments }: DraftUser): boolean {
  return clock.fingerprint === segments.index.definitions
}
