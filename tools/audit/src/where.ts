import { compare, type Decided, decideTree, kept } from './condition.ts'
import type { Scalar, Tracked, Value } from './facts.ts'
import type { PropertyLeaf, Where } from './workspace-file.ts'

export function decideWhere(where: Where, { properties, received }: Tracked): Decided<PropertyLeaf> {
  return decideTree(where, (leaf) => {
    const actual = comparable(atPath(properties, leaf.property.split('.')))
    return { holds: compare(actual, leaf, Date.parse(received)), actual: kept(actual) }
  })
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
