import type { TraitOperations, TraitScalar, TraitValue } from '@nextvisit/contracts'
import { reject, type Rejection } from './rejection.ts'
import { isLongerThan } from './is-longer-than.ts'
import { isJsonObject, memberOf } from './json-object.ts'

const MAX_SLUG_LENGTH = 100
const MAX_STRING_LENGTH = 500
const MAX_ITEMS = 100

/** One slug under one operator. A flat list of them keeps the caller's order, and one filter serves every operator. */
export type TraitChange =
  | { readonly operator: 'set'; readonly slug: string; readonly value: TraitValue }
  | { readonly operator: 'setOnce'; readonly slug: string; readonly value: TraitValue }
  | { readonly operator: 'increment'; readonly slug: string; readonly value: number }
  | { readonly operator: 'decrement'; readonly slug: string; readonly value: number }
  | { readonly operator: 'unset'; readonly slug: string }

export type ParsedTraitChanges = { readonly outcome: 'ok'; readonly changes: readonly TraitChange[] } | Rejection

/** `userAttributes` of a body, `undefined` for none, in the order of the parsed object's own keys (decisions.md, Identify). */
export function parseTraitChanges(attributes: unknown): ParsedTraitChanges {
  if (attributes === undefined) return { outcome: 'ok', changes: [] }
  if (!isJsonObject(attributes)) return reject('userAttributes must be an object')
  const changes: TraitChange[] = []
  for (const member of Object.keys(attributes)) {
    const operands = memberOf(attributes, member)
    const rejection = operands === undefined ? checkOperator(member) : readOperator(member, operands, changes)
    if (rejection) return rejection
  }
  return { outcome: 'ok', changes }
}

/** The changes as a record carries them. `Object.fromEntries` makes own properties of every slug, `__proto__` too. */
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

const OPERATORS = ['$set', '$setOnce', '$increment', '$decrement', '$unset']

function checkOperator(member: string): Rejection | undefined {
  return OPERATORS.includes(member)
    ? undefined
    : reject(`userAttributes.${shown(member)} is not an operator: use ${OPERATORS.join(', ')}`)
}

/** Adds one operator's changes to the list, or says what is wrong with them. */
function readOperator(member: string, operands: unknown, changes: TraitChange[]): Rejection | undefined {
  const where = `userAttributes.${member}`
  switch (member) {
    case '$set':
    case '$setOnce':
      return eachOperand(where, operands, (slug, value) => {
        const fault = faultOfValue(value)
        if (fault) return reject(`${where}.${shown(slug)} ${fault}`)
        changes.push({ operator: member === '$set' ? 'set' : 'setOnce', slug, value: value as TraitValue })
        return undefined
      })
    case '$increment':
    case '$decrement':
      return eachOperand(where, operands, (slug, value) => {
        if (typeof value !== 'number' || !Number.isFinite(value))
          return reject(`${where}.${shown(slug)} must be a finite number`)
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
  if (!isJsonObject(operands)) return reject(`${where} must be an object of trait keys`)
  for (const [slug, value] of Object.entries(operands)) {
    const rejection = checkSlug(where, slug) ?? read(slug, value)
    if (rejection) return rejection
  }
  return undefined
}

function readUnset(where: string, operands: unknown, changes: TraitChange[]): Rejection | undefined {
  if (!Array.isArray(operands)) return reject(`${where} must be an array of trait keys`)
  for (const slug of operands as readonly unknown[]) {
    if (typeof slug !== 'string') return reject(`${where} must hold only strings`)
    const rejection = checkSlug(where, slug)
    if (rejection) return rejection
    changes.push({ operator: 'unset', slug })
  }
  return undefined
}

function checkSlug(where: string, slug: string): Rejection | undefined {
  return slug === '' || isLongerThan(slug, MAX_SLUG_LENGTH)
    ? reject(`${where}.${shown(slug)} must be a trait key of 1 to ${MAX_SLUG_LENGTH} characters`)
    : undefined
}

function faultOfValue(value: unknown): string | undefined {
  if (!Array.isArray(value)) return faultOfScalar(value)
  if (value.length > MAX_ITEMS) return `must be an array of at most ${MAX_ITEMS} values`
  for (const item of value as readonly unknown[]) {
    if (Array.isArray(item)) return 'must be an array of strings, numbers, booleans and nulls'
    const fault = faultOfScalar(item)
    if (fault) return fault
  }
  return undefined
}

function faultOfScalar(value: unknown): string | undefined {
  switch (typeof (value as TraitScalar)) {
    case 'string':
      return isLongerThan(value as string, MAX_STRING_LENGTH)
        ? `must be at most ${MAX_STRING_LENGTH} characters long`
        : undefined
    case 'number':
      return Number.isFinite(value) ? undefined : 'must be a finite number'
    case 'boolean':
      return undefined
    default:
      return value === null ? undefined : 'must be a string, a finite number, a boolean, null, or an array of those'
  }
}

/** A caller's word in a message, cut where it is long. */
function shown(word: string): string {
  return word.length > 40 ? `${word.slice(0, 40).toWellFormed()}…` : word
}
