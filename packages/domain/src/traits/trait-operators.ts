import type { TraitOperations, TraitValue } from '@nextvisit/contracts'

/** An operator of `userAttributes`, such as `$increment`. */
type TraitOperator = {
  /** The operator in words, as the console shows it. */
  readonly words: string
} & (
  | { readonly operand: 'value'; readonly apply: Apply<TraitValue> }
  | { readonly operand: 'number'; readonly apply: Apply<number> }
  /** The operator takes a list of slugs. It registers none of them. */
  | { readonly operand: 'none'; readonly apply: Apply<undefined> }
)

/**
 * Returns the trait after the operation; undefined unsets it. `before` is undefined for an unset trait. A number that JSON
 * cannot express skips the operation: the trait stays as it is.
 */
type Apply<Operand> = (before: TraitValue | undefined, operand: Operand) => TraitValue | undefined

export type TraitOperatorName = keyof TraitOperations

/**
 * The operators in the order in which one request's operations apply (decisions.md, Identify). Parsing, the fold, the
 * registered slugs, messages and the console follow from this table.
 */
export const TRAIT_OPERATORS: { readonly [Name in TraitOperatorName]-?: TraitOperator } = {
  set: { words: 'set', operand: 'value', apply: (_before, value) => value },
  setOnce: { words: 'set once', operand: 'value', apply: (before, value) => (before === undefined ? value : before) },
  increment: { words: 'increment', operand: 'number', apply: (before, amount) => sumOf(before, amount) },
  decrement: { words: 'decrement', operand: 'number', apply: (before, amount) => sumOf(before, -amount) },
  unset: { words: 'unset', operand: 'none', apply: () => undefined },
}

/** The operators of {@link TRAIT_OPERATORS}, in its order. */
export const TRAIT_OPERATOR_NAMES = Object.keys(TRAIT_OPERATORS) as readonly TraitOperatorName[]

function sumOf(before: TraitValue = 0, amount: number): number {
  return typeof before === 'number' ? before + amount : Number.NaN
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
