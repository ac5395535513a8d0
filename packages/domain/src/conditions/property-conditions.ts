import {
  BODY_LIMITS,
  type EventTracked,
  isTraitValue,
  type PropertyCondition,
  type PropertyLeaf,
  type TraitValue,
} from '@nextvisit/contracts'
import { isJsonObject } from '../bodies/json-object.ts'
import { compileTree, type ConditionResult, type IsMember } from './condition-tree.ts'
import { valueTest } from './value-test.ts'

/** The properties of an event. undefined: the caller gave none. */
export type EventProperties = EventTracked['properties']

/** Evaluates a `where` on the properties of an event that was received at `now` (ms). */
type EvaluateProperties = (properties: EventProperties, now: number) => ConditionResult<PropertyLeaf>

/** Compiles a `where` (forms.md, Property conditions). */
export function compilePropertyCondition(condition: PropertyCondition): EvaluateProperties {
  const evaluate = compileTree<EventProperties, PropertyLeaf>(condition, (leaf) => {
    const test = valueTest(leaf)
    return (properties, now) => {
      const actual = propertyAt(properties, leaf.property)
      return { holds: test(actual, now), leaf, negated: false, actual }
    }
  })
  return (properties, now) => evaluate(properties, now, isInNoSegment)
}

const isInNoSegment: IsMember = () => false

/**
 * Returns the value at a path such as `cart.total`. A member whose name is the whole rest of the path comes before a nested
 * one. A value that no trait could have, such as an object, counts as missing.
 */
export function propertyAt(properties: EventProperties, path: string): TraitValue | undefined {
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
