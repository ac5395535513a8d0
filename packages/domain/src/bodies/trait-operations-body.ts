import { BODY_LIMITS, type TraitOperations, type TraitScalar, type TraitValue } from '@nextvisit/contracts'
import { BODY_RULES, TRAIT_OPERATORS } from './body-rules.ts'
import { isLongerThan } from './is-longer-than.ts'
import { isJsonObject, type JsonObject, memberOf } from './json-object.ts'
import { type BodyRule, reject, type Rejection, shownWord } from './rejection.ts'

const operators: ReadonlySet<string> = new Set(TRAIT_OPERATORS)

/** One slug under one operator. A flat list keeps the caller's order, in which caps grant names. */
export type TraitChange =
  | { readonly operator: 'set'; readonly slug: string; readonly value: TraitValue }
  | { readonly operator: 'setOnce'; readonly slug: string; readonly value: TraitValue }
  | { readonly operator: 'increment'; readonly slug: string; readonly value: number }
  | { readonly operator: 'decrement'; readonly slug: string; readonly value: number }
  | { readonly operator: 'unset'; readonly slug: string }

type ParsedTraitOperations = { readonly outcome: 'ok'; readonly changes: readonly TraitChange[] } | Rejection

/**
 * Parses `userAttributes` of a body, undefined for none. The changes are in the order of the object's own keys
 * (decisions.md, Identify).
 */
export function parseTraitOperations(attributes: unknown): ParsedTraitOperations {
  if (attributes === undefined) return { outcome: 'ok', changes: [] }
  if (!isJsonObject(attributes)) return reject(BODY_RULES.attributes)
  if (countOperations(attributes) > BODY_LIMITS.traitOperations) return reject(BODY_RULES.operations)
  const changes: TraitChange[] = []
  for (const member of Object.keys(attributes)) {
    const operands = memberOf(attributes, member)
    const rejection = operands === undefined ? checkOperator(member) : readOperator(member, operands, changes)
    if (rejection) return rejection
  }
  return { outcome: 'ok', changes }
}

/** Counts the operations of all operators before any is read (decisions.md, Identify). */
function countOperations(attributes: JsonObject): number {
  const counts = TRAIT_OPERATORS.map((operator) => {
    const operands = memberOf(attributes, operator)
    if (Array.isArray(operands)) return operands.length
    return isJsonObject(operands) ? Object.keys(operands).length : 0
  })
  return counts.reduce((total, count) => total + count, 0)
}

/** Converts changes to the form of a record. `Object.fromEntries` makes own properties of every slug, `__proto__` included. */
export function toTraitOperations(changes: readonly TraitChange[]): TraitOperations {
  const values: Record<'set' | 'setOnce', [string, TraitValue][]> = { set: [], setOnce: [] }
  const numbers: Record<'increment' | 'decrement', [string, number][]> = { increment: [], decrement: [] }
  const unset: string[] = []
  for (const change of changes) {
    if (change.operator === 'unset') unset.push(change.slug)
    else if (change.operator === 'set' || change.operator === 'setOnce')
      values[change.operator].push([change.slug, change.value])
    else numbers[change.operator].push([change.slug, change.value])
  }
  return {
    ...(values.set.length > 0 && { set: Object.fromEntries(values.set) }),
    ...(values.setOnce.length > 0 && { setOnce: Object.fromEntries(values.setOnce) }),
    ...(numbers.increment.length > 0 && { increment: Object.fromEntries(numbers.increment) }),
    ...(numbers.decrement.length > 0 && { decrement: Object.fromEntries(numbers.decrement) }),
    ...(unset.length > 0 && { unset }),
  }
}

function checkOperator(member: string): Rejection | undefined {
  return operators.has(member) ? undefined : reject(BODY_RULES.operator(`userAttributes.${shownWord(member)}`))
}

/** Adds one operator's changes to the list, or returns the rejection. */
function readOperator(member: string, operands: unknown, changes: TraitChange[]): Rejection | undefined {
  const where = `userAttributes.${member}`
  switch (member) {
    case '$set':
    case '$setOnce':
      return eachOperand(where, operands, (slug, value) => {
        const rule = brokenByValue(value)
        if (rule) return reject(rule(`${where}.${shownWord(slug)}`))
        changes.push({ operator: member === '$set' ? 'set' : 'setOnce', slug, value: value as TraitValue })
        return undefined
      })
    case '$increment':
    case '$decrement':
      return eachOperand(where, operands, (slug, value) => {
        if (typeof value !== 'number' || !Number.isFinite(value))
          return reject(BODY_RULES.finiteNumber(`${where}.${shownWord(slug)}`))
        changes.push({ operator: member === '$increment' ? 'increment' : 'decrement', slug, value })
        return undefined
      })
    case '$unset':
      return readUnset(where, operands, changes)
    default:
      return checkOperator(member)
  }
}

function eachOperand(
  where: string,
  operands: unknown,
  read: (slug: string, value: unknown) => Rejection | undefined,
): Rejection | undefined {
  if (!isJsonObject(operands)) return reject(BODY_RULES.operands(where))
  for (const [slug, value] of Object.entries(operands)) {
    const rejection = checkSlug(where, slug) ?? read(slug, value)
    if (rejection) return rejection
  }
  return undefined
}

function readUnset(where: string, operands: unknown, changes: TraitChange[]): Rejection | undefined {
  if (!Array.isArray(operands)) return reject(BODY_RULES.unset(where))
  for (const slug of operands as readonly unknown[]) {
    if (typeof slug !== 'string') return reject(BODY_RULES.unsetItem(where))
    const rejection = checkSlug(where, slug)
    if (rejection) return rejection
    changes.push({ operator: 'unset', slug })
  }
  return undefined
}

function checkSlug(where: string, slug: string): Rejection | undefined {
  return slug === '' || isLongerThan(slug, BODY_LIMITS.traitKeyLength)
    ? reject(BODY_RULES.traitKey(`${where}.${shownWord(slug)}`))
    : undefined
}

type RuleOfMember = (member: string) => BodyRule

/** Returns the rule that a trait's value breaks. undefined: none. */
export function brokenByValue(value: unknown): RuleOfMember | undefined {
  if (!Array.isArray(value)) return brokenByScalar(value)
  if (value.length > BODY_LIMITS.traitItems) return BODY_RULES.traitArray
  for (const item of value as readonly unknown[]) {
    const rule = Array.isArray(item) ? BODY_RULES.traitItem : brokenByScalar(item)
    if (rule) return rule
  }
  return undefined
}

function brokenByScalar(value: unknown): RuleOfMember | undefined {
  switch (typeof (value as TraitScalar)) {
    case 'string':
      return isLongerThan(value as string, BODY_LIMITS.traitStringLength) ? BODY_RULES.traitString : undefined
    case 'number':
      return Number.isFinite(value) ? undefined : BODY_RULES.finiteNumber
    case 'boolean':
      return undefined
    default:
      return value === null ? undefined : BODY_RULES.traitValue
  }
}
