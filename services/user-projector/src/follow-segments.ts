import { toldOf } from './folded-user.ts'
import type { DraftUser } from './user-draft.ts'

/**
 * A user's segments follow what a fact changes, as of when it was received (forms.md, Conditions), or of what they were
 * computed for before, where that is later: a fact that comes late turns nothing back.
 */
export function changeUser(user: DraftUser, received: string, change: () => void): void {
  const instant = Math.max(Date.parse(received), user.clock.asOf ?? -Infinity)
  if (isCurrent(user)) letTimePass(user, instant)
  change()
  if (user.segments.index.segments.length > 0 || !isCurrent(user)) computeSegments(user, instant)
}

/**
 * What time alone does to a user's segments up to `instant`, each change as of the moment when it was due: who looks
 * often and who looks rarely finds the same.
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
  const { segments, changesAt } = index.membershipAt({ ...toldOf(profile), events }, instant)
  for (const id of memberships.keys()) if (!segments.includes(id)) memberships.delete(id)
  for (const id of segments) if (!memberships.has(id)) memberships.set(id, instant)
  user.clock = { definitions: index.definitions, asOf: instant, changesAt }
  user.isChanged = true
}

/** Whether the user's segments were computed with the definitions at hand. */
export function isCurrent({ clock, segments }: DraftUser): boolean {
  return clock.definitions === segments.index.definitions
}
