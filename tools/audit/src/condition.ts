import { countName } from './count-names.ts'
import type { EventTracked, AnswerGiven, Scalar, Value } from './facts.ts'
import { type AnswersByForm, comparedAnswer } from './kept-answers.ts'
import { KEPT } from './latest.ts'
import type {
  AnswerLeaf,
  Condition,
  Operators,
  PropertyLeaf,
  Tree,
  UserLeaf,
  Where,
  WhereAnswers,
} from './workspace-file.ts'

/** State of a user at an instant (ms). */
export interface Moment {
  readonly at: number
  readonly traits: ReadonlyMap<string, Value>
  readonly device: ReadonlyMap<string, string>
  readonly country: string | null
  /** Returns the count of an event, by `countName`, and its kept times in ms. */
  readonly eventOf: (slug: string) => { readonly count: number; readonly latest: readonly number[] } | undefined
  readonly answers: AnswersByForm
  /** Conditions of segments, by id. */
  readonly segments: ReadonlyMap<string, Condition>
}

/** Result of a condition and its decisive leaf, as in a gate's outcome (contracts, form-decisions.ts). */
interface Decided<Leaf> {
  readonly holds: boolean
  /** Decisive leaf: the first failing one of `all`, the first holding one of `any`, otherwise the last; null: none. */
  readonly leaf: Leaf | null
  /** True if the leaf is under an odd number of `not`. */
  readonly negated: boolean
  /** Value of the user or the event. */
  readonly actual?: Value | undefined
}

/** Evaluates a condition. It evaluates the whole tree each time, which is slow but simple. */
export function decide(condition: Condition, moment: Moment): Decided<UserLeaf> {
  return decideTree(condition, (leaf) => {
    const actual = actualOf(leaf, moment)
    return { holds: isMet(leaf, actual, moment.at), actual: kept(actual) }
  })
}

/** Evaluates a condition on the properties of an event. */
export function decideWhere(where: Where, { properties, received }: EventTracked): Decided<PropertyLeaf> {
  return decideTree(where, (leaf) => {
    const actual = comparable(atPath(properties, leaf.property.split('.')))
    return { holds: compare(actual, leaf, Date.parse(received)), actual: kept(actual) }
  })
}

/** Evaluates a condition on the answers of a record. */
export function decideAnswers(where: WhereAnswers, { answers, received }: AnswerGiven): Decided<AnswerLeaf> {
  const given = new Map(Object.entries(answers))
  return decideTree(where, (leaf) => {
    const answer = given.get(leaf.answer)
    const actual = answer === undefined ? undefined : comparedAnswer(answer)
    return { holds: compare(actual, leaf, Date.parse(received)), actual: kept(actual) }
  })
}

/** Evaluates a tree. `isMetBy` evaluates its leaves. */
function decideTree<Leaf extends object>(
  tree: Tree<Leaf>,
  isMetBy: (leaf: Leaf) => Pick<Decided<Leaf>, 'holds' | 'actual'>,
): Decided<Leaf> {
  if ('all' in tree) return decideBy(false, tree.all, isMetBy)
  if ('any' in tree) return decideBy(true, tree.any, isMetBy)
  if (!('not' in tree)) return { ...isMetBy(tree), leaf: tree, negated: false }
  const inner = decideTree(tree.not, isMetBy)
  return { ...inner, holds: !inner.holds, negated: !inner.negated }
}

export function holds(condition: Condition, moment: Moment): boolean {
  return decide(condition, moment).holds
}

/** Evaluates parts until one holds or fails, which decides. */
function decideBy<Leaf extends object>(
  isHolding: boolean,
  parts: readonly Tree<Leaf>[],
  isMetBy: (leaf: Leaf) => Pick<Decided<Leaf>, 'holds' | 'actual'>,
): Decided<Leaf> {
  let decided: Decided<Leaf> = { holds: !isHolding, leaf: null, negated: false }
  for (const part of parts) {
    decided = decideTree(part, isMetBy)
    if (decided.holds === isHolding) return decided
  }
  return decided
}

function actualOf(leaf: UserLeaf, moment: Moment): Value | undefined {
  if ('segment' in leaf) return isMember(leaf.segment, moment)
  if ('event' in leaf) return countOf(leaf, moment)
  if ('trait' in leaf) return moment.traits.get(leaf.trait)
  if ('answer' in leaf) return moment.answers.get(leaf.answer.form)?.answers.get(leaf.answer.element)
  const isCountry = 'country' in leaf || leaf.device === '$countryCode'
  return (isCountry ? moment.country : moment.device.get(leaf.device)) ?? undefined
}

/** Members of segments, by moment. */
const memberships = new WeakMap<Moment, Map<string, boolean>>()

/**
 * Evaluates each segment once per moment; in a chain of twenty that refer to each other twice, the last would otherwise be
 * evaluated a million times. Referenced segments are evaluated first, because a chain may be longer than the call stack.
 */
function isMember(id: string, moment: Moment): boolean {
  const known = memberships.get(moment) ?? new Map<string, boolean>()
  memberships.set(moment, known)
  const waiting = known.has(id) ? [] : [id]
  for (let next = waiting.at(-1); next !== undefined; next = waiting.at(-1)) {
    const where = moment.segments.get(next)
    const before = where ? segmentsIn(where).filter((named) => !known.has(named)) : []
    waiting.push(...before)
    if (before.length > 0) continue
    known.set(next, where !== undefined && holds(where, moment))
    waiting.pop()
  }
  return known.get(id) === true
}

function segmentsIn(condition: Condition): readonly string[] {
  if ('all' in condition) return condition.all.flatMap(segmentsIn)
  if ('any' in condition) return condition.any.flatMap(segmentsIn)
  if ('not' in condition) return segmentsIn(condition.not)
  return 'segment' in condition ? [condition.segment] : []
}

function isMet(leaf: UserLeaf, actual: Value | undefined, now: number): boolean {
  if ('segment' in leaf) return actual === true
  if (!('country' in leaf)) return compare(actual, leaf, now)
  return compare(actual, typeof leaf.country === 'string' ? { is: leaf.country } : leaf.country, now)
}

function countOf(leaf: Extract<UserLeaf, { event: string }>, moment: Moment): number {
  const { within } = leaf
  const { count, latest } = moment.eventOf(countName(leaf)) ?? { count: 0, latest: [] }
  if (within === undefined) return count
  return Math.min(latest.filter((at) => at <= moment.at && at > moment.at - msOf(within)).length, KEPT)
}

/**
 * Compares a value. One of the wrong type counts as missing, and fails all operators but `isNot`, `notIn` and `exists:
 * false`.
 */
function compare(value: Value | undefined, operators: Operators, now: number): boolean {
  if (operators.is !== undefined) return value === operators.is
  if (operators.isNot !== undefined) return value !== operators.isNot
  if (operators.in) return operators.in.some((one) => one === value)
  if (operators.notIn) return operators.notIn.every((one) => one !== value)
  if (operators.exists !== undefined) return operators.exists === (value !== undefined)
  if (operators.contains !== undefined) {
    return (typeof value === 'string' || Array.isArray(value)) && value.includes(operators.contains)
  }
  if (operators.startsWith !== undefined) return typeof value === 'string' && value.startsWith(operators.startsWith)
  if (operators.before !== undefined) return instantOf(value) < boundOf(operators.before, now)
  if (operators.after !== undefined) return instantOf(value) > boundOf(operators.after, now)
  return typeof value === 'number' && isBetween(value, operators)
}

function isBetween(value: number, { exactly, atLeast, atMost, moreThan, lessThan }: Operators): boolean {
  if (exactly !== undefined) return value === exactly
  if (moreThan !== undefined) return value > moreThan
  if (lessThan !== undefined) return value < lessThan
  return value >= (atLeast ?? -Infinity) && value <= (atMost ?? Infinity)
}

/** Parses an ISO instant, or an age such as -30d, to ms. */
function boundOf(operand: string, now: number): number {
  return operand.startsWith('-') ? now - msOf(operand.slice(1)) : Date.parse(operand)
}

/**
 * Parses an ISO date to ms; without an offset it is UTC. Returns NaN, which is neither before nor after anything, for
 * other values.
 */
function instantOf(value: Value | undefined): number {
  const parts =
    typeof value === 'string'
      ? /^(\d{4}-\d\d-\d\d)(?:T(\d\d:\d\d(?::\d\d(?:\.\d+)?)?)(Z|[+-]\d\d:?\d\d)?)?$/.exec(value)
      : null
  const [, day, time = '00:00', offset = 'Z'] = parts ?? []
  const midnight = Date.parse(`${day}T00:00Z`)
  if (Number.isNaN(midnight) || new Date(midnight).toISOString().slice(0, 10) !== day) return Number.NaN
  return Date.parse(`${day}T${time}${offset.replace(/(\d\d)(\d\d)$/, '$1:$2')}`)
}

const UNITS: ReadonlyMap<string, number> = new Map([
  ['s', 1_000],
  ['m', 60_000],
  ['h', 3_600_000],
  ['d', 86_400_000],
])

export function msOf(duration: string): number {
  return Number.parseInt(duration, 10) * (UNITS.get(duration.slice(-1)) ?? Number.NaN)
}

/** Truncates a value as in decisions: the first 20 values of a list, and the first 100 characters of a text. */
function kept(value: Value | undefined): Value | undefined {
  if (Array.isArray(value)) return value.slice(0, 20).map(shortened)
  return value === undefined ? undefined : shortened(value as Scalar)
}

function shortened(value: Scalar): Scalar {
  const characters = typeof value === 'string' ? Array.from(value) : []
  return characters.length > 100 ? `${characters.slice(0, 100).join('')}…` : value
}

/** Returns the value at a path. A member named like the whole path takes precedence over a nested one. */
function atPath(value: unknown, [first = '', ...others]: readonly string[]): unknown {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return undefined
  const members = new Map<string, unknown>(Object.entries(value))
  const whole = [first, ...others].join('.')
  if (members.has(whole) || others.length === 0) return members.get(whole)
  return atPath(members.get(first), others)
}

/** Returns a value that a trait can have: a scalar, or at most 100 of them. Other values count as missing. */
function comparable(value: unknown): Value | undefined {
  if (isScalar(value)) return value
  return Array.isArray(value) && value.length <= 100 && value.every(isScalar) ? value : undefined
}

function isScalar(value: unknown): value is Scalar {
  return value === null || (value !== undefined && typeof value !== 'object')
}
