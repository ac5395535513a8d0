import {
  type Condition,
  type ConditionLeaf,
  durationMs,
  type EventLeaf,
  type TraitLeaf,
  type TraitScalar,
  type TraitValue,
} from '@nextvisit/contracts'
import { compileTree, type Evaluator, type IsMember } from './condition-tree.ts'
import { countKeyOf } from '../users/count-key.ts'
import type { UserState } from './user-state.ts'
import { countWithin } from '../users/event-history.ts'

/** The part of a user's state that conditions read. */
export type ConditionState = Pick<UserState, 'traits' | 'device' | 'events'>

/** A compiled condition: returns whether it holds for a user at `now` (ms). */
export type Predicate = (user: ConditionState, now: number, isMember: IsMember) => boolean

type ConditionEvaluator = Evaluator<ConditionState, ConditionLeaf>

/** Compiles a condition to a predicate (forms.md, Conditions). */
export function compileCondition(condition: Condition): Predicate {
  const evaluate = compileEvaluator(condition)
  return (user, now, isMember) => evaluate(user, now, isMember).holds
}

/** Compiles a condition to an evaluator, which also names the leaf that decided. */
export function compileEvaluator(condition: Condition): ConditionEvaluator {
  return compileTree(condition, compileLeaf)
}

function compileLeaf(leaf: ConditionLeaf): ConditionEvaluator {
  if ('segment' in leaf) return leafFinder(leaf, (_user, _now, isMember) => isMember(leaf.segment), isTrue)
  if ('event' in leaf) return eventFinder(leaf, countKeyOf(leaf))
  if ('country' in leaf) {
    const { country } = leaf
    const test = membershipTest(typeof country === 'string' ? { is: country } : country) ?? never
    return leafFinder(leaf, (user) => user.device.$countryCode, test)
  }
  if ('device' in leaf) return leafFinder(leaf, (user) => user.device[leaf.device], membershipTest(leaf) ?? never)
  return leafFinder(leaf, (user) => user.traits.get(leaf.trait), valueTest(leaf))
}

function leafFinder(
  leaf: ConditionLeaf,
  valueOf: (user: ConditionState, now: number, isMember: IsMember) => TraitValue | undefined,
  test: Test,
): ConditionEvaluator {
  return (user, now, isMember) => {
    const actual = valueOf(user, now, isMember)
    return { holds: test(actual, now), leaf, negated: false, actual }
  }
}

/** Tests a value. A missing trait is `undefined`, which fails every operator but `isNot`, `notIn` and `exists: false`. */
type Test = (value: TraitValue | undefined, now: number) => boolean

const never: Test = () => false
const isTrue: Test = (value) => value === true

interface Membership {
  readonly is?: TraitScalar | undefined
  readonly isNot?: TraitScalar | undefined
  readonly in?: readonly TraitScalar[] | undefined
  readonly notIn?: readonly TraitScalar[] | undefined
  readonly exists?: boolean | undefined
}

/** Compiles an operator of equality. Values are equal if type and value are; a list equals nothing. */
function membershipTest(leaf: Membership): Test | undefined {
  if (leaf.is !== undefined) return (value) => value === leaf.is
  if (leaf.isNot !== undefined) return (value) => value !== leaf.isNot
  if (leaf.in) return isAmong(leaf.in)
  if (leaf.notIn) {
    const isExcluded = isAmong(leaf.notIn)
    return (value, now) => !isExcluded(value, now)
  }
  if (leaf.exists !== undefined) return (value) => (value !== undefined) === leaf.exists
  return undefined
}

function isAmong(wanted: readonly TraitScalar[]): Test {
  const values = new Set<unknown>(wanted)
  return (value) => values.has(value)
}

/** Compiles the test for a trait or a property. A value of the wrong type counts as missing. */
export function valueTest(leaf: Omit<TraitLeaf, 'trait'>): Test {
  const { contains, startsWith, atLeast, atMost, moreThan, lessThan, before, after } = leaf
  if (contains !== undefined) {
    return (value) => (typeof value === 'string' || Array.isArray(value)) && value.includes(contains)
  }
  if (startsWith !== undefined) return (value) => typeof value === 'string' && value.startsWith(startsWith)
  if (atLeast !== undefined) return numberTest((value) => value >= atLeast)
  if (atMost !== undefined) return numberTest((value) => value <= atMost)
  if (moreThan !== undefined) return numberTest((value) => value > moreThan)
  if (lessThan !== undefined) return numberTest((value) => value < lessThan)
  if (before !== undefined) return dateTest(before, (value, bound) => value < bound)
  if (after !== undefined) return dateTest(after, (value, bound) => value > bound)
  return membershipTest(leaf) ?? never
}

function numberTest(holds: (value: number) => boolean): Test {
  return (value) => typeof value === 'number' && holds(value)
}

/** Compiles a test against `operand`: an ISO instant, or an age such as `-30d`, counted back from now. */
function dateTest(operand: string, holds: (value: number, bound: number) => boolean): Test {
  const ageMs = ageMsOf(operand)
  const instant = Date.parse(operand)
  return (value, now) => {
    const at = parseTraitDate(value)
    return at !== undefined && holds(at, ageMs === undefined ? instant : now - ageMs)
  }
}

/** Returns an age such as `-30d` in ms; undefined for an ISO instant. */
export function ageMsOf(operand: string): number | undefined {
  return operand.startsWith('-') ? durationMs(operand.slice(1)) : undefined
}

const ISO_DATE = /^(\d{4}-\d{2}-\d{2})(T\d{2}:\d{2}(:\d{2}(\.\d+)?)?(Z|[+-]\d{2}:?\d{2})?)?$/

/** Parses a trait's text as an ISO date or date and time, UTC by default. Returns ms since the epoch. */
export function parseTraitDate(text: TraitValue | undefined): number | undefined {
  if (typeof text !== 'string') return undefined
  const [matched, day, time, , , offset] = ISO_DATE.exec(text) ?? []
  if (!matched || !day) return undefined
  // `Date.parse` rolls 31 February over into March, and refuses `+0200`.
  const midnight = new Date(`${day}T00:00:00Z`)
  if (Number.isNaN(midnight.getTime()) || !midnight.toISOString().startsWith(day)) return undefined
  if (!time) return midnight.getTime()
  const at = Date.parse(offset ? matched.replace(/([+-]\d{2})(\d{2})$/, '$1:$2') : `${matched}Z`)
  return Number.isNaN(at) ? undefined : at
}

function eventFinder(leaf: EventLeaf, countKey: string): ConditionEvaluator {
  const windowMs = leaf.within === undefined ? undefined : durationMs(leaf.within)
  return leafFinder(
    leaf,
    (user, now) => {
      const history = user.events.get(countKey)
      return windowMs === undefined ? (history?.total ?? 0) : countWithin(history, now, windowMs)
    },
    numberTest(countTest(leaf)),
  )
}

/** Returns the test of a leaf on the number of events. */
export function countTest({ atLeast = 0, atMost = Number.POSITIVE_INFINITY, exactly }: EventLeaf) {
  return (count: number): boolean => (exactly === undefined ? count >= atLeast && count <= atMost : count === exactly)
}
