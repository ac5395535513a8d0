import { TraitOperations, type TraitValue } from '@nextvisit/contracts'

/** An operator of `userAttributes`, such as `$increment`. */
type TraitOperator = {
  /** The operator in words, as the console shows it. */
  readonly words: string
  /**
   * The effect of a device field as its slug. A `fallback` sets a device fact that neither another operator of the request nor
   * its `$deviceInfo` overwrites.
   */
  readonly deviceField: 'overwrite' | 'fallback' | 'refused' | 'ignored'
} & (
  | { readonly operand: 'value'; readonly apply: Apply<TraitValue> }
  | { readonly operand: 'number'; readonly apply: Apply<number> }
  /** The operator takes a list of slugs. It registers none of them. */
  | { readonly operand: 'none'; readonly apply: Apply<undefined> }
)

/** Returns the effect on a trait. `before` is undefined for an unset trait. `skipped`: the trait stays as it is. */
type Apply<Operand> = (before: TraitValue | undefined, operand: Operand) => TraitEffect

type TraitEffect =
  | { readonly outcome: 'set'; readonly value: TraitValue }
  | { readonly outcome: 'unset' }
  | { readonly outcome: 'skipped' }

export type TraitOperatorName = keyof TraitOperations

/**
 * The operators (decisions.md, Identify). Parsing, the fold, the registered slugs, messages and the console follow from
 * this table.
 */
export const TRAIT_OPERATORS: { readonly [Name in TraitOperatorName]-?: TraitOperator } = {
  set: { words: 'set', operand: 'value', deviceField: 'overwrite', apply: (_before, value) => toValue(value) },
  setOnce: {
    words: 'set once',
    operand: 'value',
    deviceField: 'fallback',
    apply: (before, value) => toValue(before === undefined ? value : before),
  },
  increment: { words: 'increment', operand: 'number', deviceField: 'refused', apply: add },
  decrement: {
    words: 'decrement',
    operand: 'number',
    deviceField: 'refused',
    apply: (before, amount) => add(before, -amount),
  },
  unset: { words: 'unset', operand: 'none', deviceField: 'ignored', apply: () => ({ outcome: 'unset' }) },
}

/** The names of the operators, in the order in which the operations of one request apply. */
export const TRAIT_OPERATOR_NAMES = Object.keys(TraitOperations.shape) as readonly TraitOperatorName[]

function toValue(value: TraitValue): TraitEffect {
  return { outcome: 'set', value }
}

/** Skips a trait that is not a number, and a sum that JSON cannot express (1e308 + 1e308). An unset trait starts at 0. */
function add(before: TraitValue = 0, amount: number): TraitEffect {
  const sum = typeof before === 'number' ? before + amount : Number.NaN
  return Number.isFinite(sum) ? toValue(sum) : { outcome: 'skipped' }
}

/** One slug under one operator. A flat list keeps the caller's order, in which caps grant names. */
export interface TraitChange {
  readonly operator: TraitOperatorName
  readonly slug: string
  /** The operand. Absent: the operator has none. */
  readonly value?: TraitValue
}

/** Converts changes to the form of a record. `Object.fromEntries` makes own properties of every slug, `__proto__` included. */
export function toTraitOperations(changes: readonly TraitChange[]): TraitOperations {
  const byOperator = Map.groupBy(changes, ({ operator }) => operator)
  const operations = TRAIT_OPERATOR_NAMES.flatMap((name) => {
    const own = byOperator.get(name)
    if (!own) return []
    const isList = TRAIT_OPERATORS[name].operand === 'none'
    return [
      [name, isList ? own.map(({ slug }) => slug) : Object.fromEntries(own.map(({ slug, value }) => [slug, value]))],
    ]
  })
  return Object.fromEntries(operations) as TraitOperations
}

/** Returns the changes of a record, in the order in which they apply. */
export function traitChangesOf(operations: TraitOperations): readonly TraitChange[] {
  return TRAIT_OPERATOR_NAMES.flatMap((operator): readonly TraitChange[] => {
    const operands = operations[operator] ?? []
    if (Array.isArray(operands)) return operands.map((slug: string) => ({ operator, slug }))
    return Object.entries(operands).map(([slug, value]) => ({ operator, slug, value: value as TraitValue }))
  })
}
