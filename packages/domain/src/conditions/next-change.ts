import { type Condition, durationMs, type EventLeaf, type TraitLeaf } from '@nextvisit/contracts'
import { countTest } from './conditions.ts'
import { ageMsOf, parseTraitDate } from './value-test.ts'
import type { User } from '../users/user.ts'
import { countKeyOf } from '../counts/count-key.ts'

/**
 * Returns the first instant after `now` at which time alone can change the result of a condition; Infinity: never. Until
 * then the result is the same as at `now`.
 */
type NextChange = (user: User, now: number) => number

/**
 * Compiles the next change of a condition (forms.md, Conditions). A segment that it names has its own: a project's next
 * change is the earliest of all its segments.
 */
export function compileNextChange(condition: Condition): NextChange {
  if ('all' in condition) return earliest(condition.all.map(compileNextChange))
  if ('any' in condition) return earliest(condition.any.map(compileNextChange))
  if ('not' in condition) return compileNextChange(condition.not)
  if ('event' in condition && condition.within !== undefined)
    return nextChangeOfWindow(condition, durationMs(condition.within))
  if ('trait' in condition) return nextChangeOfAge(condition)
  return never
}

/** The next change of a condition that only records can change. */
const never: NextChange = () => Infinity

function earliest(changes: readonly NextChange[]): NextChange {
  const possible = changes.filter((change) => change !== never)
  const [only] = possible
  if (possible.length <= 1) return only ?? never
  return (user, now) => Math.min(...possible.map((change) => change(user, now)))
}

/**
 * An event enters the window (now − window, now] when it occurs and leaves it when it is as old as the window. The search
 * steps from one such instant to the next until the result changes.
 */
function nextChangeOfWindow(leaf: EventLeaf, windowMs: number): NextChange {
  const countKey = countKeyOf(leaf)
  const holds = countTest(leaf)
  return ({ events }, now) => {
    const { latest = [] } = events.get(countKey) ?? {}
    const enters = latest.filter((at) => at > now)
    const leaves = latest.map((at) => at + windowMs).filter((at) => at > now)
    let count = leaves.length - enters.length
    const isHeld = holds(count)
    for (let entered = 0, left = 0; left < leaves.length; ) {
      const instant = Math.min(enters[entered] ?? Infinity, leaves[left] ?? Infinity)
      for (; enters[entered] === instant; entered++) count++
      for (; leaves[left] === instant; left++) count--
      if (holds(count) !== isHeld) return instant
    }
    return Infinity
  }
}

/** A date meets `after: -30d` until just before it is 30 days ago, and `before: -30d` from just after that. */
function nextChangeOfAge(leaf: TraitLeaf): NextChange {
  const ageMs = ageMsOf(leaf.before ?? leaf.after ?? '')
  if (ageMs === undefined) return never
  return ({ profile: { traits } }, now) => {
    const at = parseTraitDate(traits.get(leaf.trait))
    const changesAt = at === undefined ? now : at + ageMs + (leaf.before === undefined ? 0 : 1)
    return changesAt > now ? changesAt : Infinity
  }
}
