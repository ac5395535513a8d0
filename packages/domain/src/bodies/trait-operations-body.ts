import { BODY_LIMITS, isLongerThan, type TraitScalar, type TraitValue } from '@nextvisit/contracts'
import { TRAIT_OPERATOR_NAMES, TRAIT_OPERATORS, type TraitChange } from '../traits/trait-operators.ts'
import { BODY_RULES } from './body-rules.ts'
import { isDeviceField } from './device-info.ts'
import { emptyAsObject, isJsonObject, type JsonObject, memberOf } from './json-object.ts'
import { type BodyRule, reject, type Rejection, truncate } from './rejection.ts'

type ParsedTraitOperations =
  | { readonly outcome: 'ok'; readonly changes: readonly TraitChange[]; readonly invalidDevice: InvalidDevice }
  | Rejection

/** A rejection of each device field whose operand no trait could have, by its name. */
type InvalidDevice = ReadonlyMap<string, Rejection>

interface ReadOperations {
  readonly changes: TraitChange[]
  readonly invalidDevice: Map<string, Rejection>
}

/**
 * Parses `userAttributes` of a body, undefined for none. The changes are in the order of the object's own keys
 * (decisions.md, Identify). The caller decides whether an invalid device fact refuses the body.
 */
export function parseTraitOperations(given: unknown): ParsedTraitOperations {
  const attributes = emptyAsObject(given)
  const operations: ReadOperations = { changes: [], invalidDevice: new Map() }
  if (attributes === undefined) return { outcome: 'ok', ...operations }
  if (!isJsonObject(attributes)) return reject(BODY_RULES.attributes)
  if (countOperations(attributes) > BODY_LIMITS.traitOperations) return reject(BODY_RULES.operations)
  for (const member of Object.keys(attributes)) {
    const rejection = readOperator(member, memberOf(attributes, member), operations)
    if (rejection) return rejection
  }
  return { outcome: 'ok', ...operations }
}

/** Counts the operations of all operators before any is read (decisions.md, Identify). */
function countOperations(attributes: JsonObject): number {
  const counts = TRAIT_OPERATOR_NAMES.map((operator) => {
    const operands = memberOf(attributes, `$${operator}`)
    if (Array.isArray(operands)) return operands.length
    return isJsonObject(operands) ? Object.keys(operands).length : 0
  })
  return counts.reduce((total, count) => total + count, 0)
}

/** Adds one operator's changes to the list, or returns the rejection. */
function readOperator(
  member: string,
  operands: unknown,
  { changes, invalidDevice }: ReadOperations,
): Rejection | undefined {
  const where = `userAttributes.${member}`
  const operator = TRAIT_OPERATOR_NAMES.find((name) => member === `$${name}`)
  if (!operator) return reject(BODY_RULES.operator(`userAttributes.${truncate(member)}`))
  if (operands === undefined) return undefined
  const { operand } = TRAIT_OPERATORS[operator]
  if (operand === 'none') return readSlugs(where, operands, (slug) => changes.push({ operator, slug }))
  const brokenBy = operand === 'number' ? checkNumber : checkTraitValue
  return eachOperand(where, operands, (slug, value) => {
    const rule = brokenBy(value)
    const rejection = rule && reject(rule(`${where}.${truncate(slug)}`))
    if (!rejection) changes.push({ operator, slug, value: value as TraitValue })
    else if (isDeviceField(slug)) invalidDevice.set(slug, rejection)
    else return rejection
    return undefined
  })
}

function eachOperand(
  where: string,
  given: unknown,
  read: (slug: string, value: unknown) => Rejection | undefined,
): Rejection | undefined {
  const operands = emptyAsObject(given)
  if (!isJsonObject(operands)) return reject(BODY_RULES.operands(where))
  for (const [slug, value] of Object.entries(operands)) {
    const rejection = checkSlug(where, slug) ?? read(slug, value)
    if (rejection) return rejection
  }
  return undefined
}

function readSlugs(where: string, operands: unknown, take: (slug: string) => void): Rejection | undefined {
  if (!Array.isArray(operands)) return reject(BODY_RULES.unset(where))
  for (const slug of operands as readonly unknown[]) {
    if (typeof slug !== 'string') return reject(BODY_RULES.unsetItem(where))
    const rejection = checkSlug(where, slug)
    if (rejection) return rejection
    take(slug)
  }
  return undefined
}

function checkSlug(where: string, slug: string): Rejection | undefined {
  return slug === '' || isLongerThan(slug, BODY_LIMITS.traitKeyLength)
    ? reject(BODY_RULES.traitKey(`${where}.${truncate(slug)}`))
    : undefined
}

function checkNumber(value: unknown): RuleOfMember | undefined {
  if (typeof value !== 'number') return BODY_RULES.finiteNumber
  return Number.isFinite(value) ? undefined : BODY_RULES.inexactNumber
}

type RuleOfMember = (member: string) => BodyRule

/** Returns the rule that a trait's value breaks. undefined: none. */
export function checkTraitValue(value: unknown): RuleOfMember | undefined {
  if (!Array.isArray(value)) return checkTraitScalar(value)
  if (value.length > BODY_LIMITS.traitItems) return BODY_RULES.traitArray
  for (const item of value as readonly unknown[]) {
    const rule = Array.isArray(item) ? BODY_RULES.traitItem : checkTraitScalar(item)
    if (rule) return rule
  }
  return undefined
}

function checkTraitScalar(value: unknown): RuleOfMember | undefined {
  switch (typeof (value as TraitScalar)) {
    case 'string':
      return isLongerThan(value as string, BODY_LIMITS.traitStringLength) ? BODY_RULES.traitString : undefined
    case 'number':
      return Number.isFinite(value) ? undefined : BODY_RULES.inexactNumber
    case 'boolean':
      return undefined
    default:
      return value === null ? undefined : BODY_RULES.traitValue
  }
}
