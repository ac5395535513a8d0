import { durationMs, type TraitLeaf, type TraitScalar, type TraitValue, type ValueOperator } from '@nextvisit/contracts'

/**
 * Tests a value at `now` (ms). A missing value is `undefined`, which fails every operator but `isNot`, `notIn` and
 * `exists: false`. A value of the wrong type counts as missing.
 */
export type Test = (value: TraitValue | undefined, now: number) => boolean

/** The test of each operator (forms.md, Conditions). Values are equal if type and value are; a list equals nothing. */
const TESTS: { readonly [Operator in ValueOperator]: (operand: NonNullable<TraitLeaf[Operator]>) => Test } = {
  is: (wanted) => (value) => value === wanted,
  isNot: (unwanted) => (value) => value !== unwanted,
  in: isAmong,
  notIn: (unwanted) => {
    const isExcluded = isAmong(unwanted)
    return (value, now) => !isExcluded(value, now)
  },
  contains: (part) => (value) => (typeof value === 'string' || Array.isArray(value)) && value.includes(part),
  startsWith: (start) => (value) => typeof value === 'string' && value.startsWith(start),
  exists: (wanted) => (value) => (value !== undefined) === wanted,
  atLeast: (least) => numberTest((value) => value >= least),
  atMost: (most) => numberTest((value) => value <= most),
  moreThan: (bound) => numberTest((value) => value > bound),
  lessThan: (bound) => numberTest((value) => value < bound),
  before: (bound) => dateTest(bound, (value, instant) => value < instant),
  after: (bound) => dateTest(bound, (value, instant) => value > instant),
}
const OPERATORS = Object.keys(TESTS) as readonly ValueOperator[]

/** Compiles the test of a leaf, which has exactly one operator. */
export function valueTest(leaf: { readonly [Operator in ValueOperator]?: TraitLeaf[Operator] }): Test {
  const operator = OPERATORS.find((name) => leaf[name] !== undefined)
  return operator ? TESTS[operator](leaf[operator] as never) : () => false
}

function isAmong(wanted: readonly TraitScalar[]): Test {
  const values = new Set<unknown>(wanted)
  return (value) => values.has(value)
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
