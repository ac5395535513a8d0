import { type Condition, durationMs, type EventLeaf, type TraitLeaf } from '@nextvisit/contracts'
import { eventSlug } from '../event-slug.ts'
import { ageMsOf, compileCondition, type ConditionState, parseTraitDate, type Predicate } from './conditions.ts'

/**
 * The first instant after `now` at which time alone may change whether a condition holds; infinity: it never does. Until
 * then it holds, or does not, as at `now`.
 */
export type Clock = (user: ConditionState, now: number) => number

/** When a tree of conditions may change by itself (forms.md, Conditions). `segment`: the clock of a segment, by its id. */
export function compileClock(condition: Condition, segment: (id: string) => Clock): Clock {
  if ('all' in condition) return earliest(condition.all.map((child) => compileClock(child, segment)))
  if ('any' in condition) return earliest(condition.any.map((child) => compileClock(child, segment)))
  if ('not' in condition) return compileClock(condition.not, segment)
  if ('segment' in condition) return segment(condition.segment)
  if ('event' in condition && condition.within !== undefined)
    return windowClock(condition, durationMs(condition.within))
  if ('trait' in condition) return ageClock(condition)
  return stopped
}

/** Of what only facts can change. */
export const stopped: Clock = () => Infinity

function earliest(clocks: readonly Clock[]): Clock {
  const running = clocks.filter((clock) => clock !== stopped)
  const [only] = running
  if (running.length <= 1) return only ?? stopped
  return (user, now) => Math.min(...running.map((clock) => clock(user, now)))
}

/** An event is in (now − window, now] from when it occurred until just before it is as old as the window. */
function windowClock(leaf: EventLeaf, windowMs: number): Clock {
  const slug = eventSlug(leaf.event)
  return firstChange(leafPredicate(leaf), ({ events }) =>
    (events.get(slug)?.latest ?? []).flatMap((at) => [at, at + windowMs]),
  )
}

/** A date is `after: -30d` until just before it is 30 days ago, and `before: -30d` from just after that. */
function ageClock(leaf: TraitLeaf): Clock {
  const ageMs = ageMsOf(leaf.before ?? leaf.after ?? '')
  if (ageMs === undefined) return stopped
  return firstChange(leafPredicate(leaf), ({ traits }) => {
    const at = parseTraitDate(traits.get(leaf.trait))
    return at === undefined ? [] : [at + ageMs, at + ageMs + 1]
  })
}

function leafPredicate(leaf: TraitLeaf | EventLeaf): Predicate {
  return compileCondition(leaf, () => () => false)
}

/** `instants`: all at which it can change, in any order. */
function firstChange(holds: Predicate, instants: (user: ConditionState) => readonly number[]): Clock {
  return (user, now) => {
    const current = holds(user, now)
    const coming = instants(user).filter((instant) => instant > now)
    return coming.toSorted((one, other) => one - other).find((instant) => holds(user, instant) !== current) ?? Infinity
  }
}
