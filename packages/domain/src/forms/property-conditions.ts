import {
  type EventTracked,
  isTraitValue,
  type PropertyCondition,
  type PropertyLeaf,
  type TraitValue,
} from '@nextvisit/contracts'
import { isJsonObject } from '../bodies/json-object.ts'
import { BODY_LIMITS } from '../bodies/body-rules.ts'
import { compileTree, type Finding, type IsMember } from './condition-tree.ts'
import { valueTest } from './conditions.ts'

/** Of an event; undefined: none were given. */
export type Properties = EventTracked['properties']

/** What a `where` finds in the properties of an event received at an instant (ms). */
export type FindInProperties = (properties: Properties, now: number) => Finding<PropertyLeaf>

/** (forms.md, Property conditions) */
export function compilePropertyCondition(condition: PropertyCondition): FindInProperties {
  const find = compileTree<Properties, PropertyLeaf>(condition, (leaf) => {
    const test = valueTest(leaf)
    return (properties, now) => {
      const actual = propertyAt(properties, leaf.property)
      return { holds: test(actual, now), leaf, negated: false, actual }
    }
  })
  return (properties, now) => find(properties, now, isInNoSegment)
}

const isInNoSegment: IsMember = () => false

/**
 * The value at a path such as `cart.total`. A member that is named like the whole rest of the path counts before one that
 * is nested. What no trait could be, such as an object, counts as missing.
 */
export function propertyAt(properties: Properties, path: string): TraitValue | undefined {
  const value = valueAt(properties, path)
  return isTraitValue(value) && !isTooLong(value) ? value : undefined
}

function valueAt(value: unknown, path: string): unknown {
  if (!isJsonObject(value)) return undefined
  if (Object.hasOwn(value, path)) return value[path]
  const dot = path.indexOf('.')
  const name = path.slice(0, dot)
  return dot !== -1 && Object.hasOwn(value, name) ? valueAt(value[name], path.slice(dot + 1)) : undefined
}

function isTooLong(value: TraitValue): boolean {
  return Array.isArray(value) && value.length > BODY_LIMITS.traitItems
}
