import type { DeviceFacts, EventTracked } from '@nextvisit/contracts'
import { isCustomSlug } from '../traits/custom-slugs.ts'
import { TRAIT_OPERATORS, type TraitChange } from '../traits/trait-operators.ts'
import type { ProjectPolicy } from '../project-policy.ts'
import { checkDeviceChange, isDeviceField } from './device-info.ts'
import type { IdentifyBody } from './identify-body.ts'
import type { JsonObject } from './json-object.ts'
import type { Rejection } from './rejection.ts'

/** The part of an identify that a project keeps, and the names (never the values) of the rest. */
export interface AllowedFields {
  readonly outcome: 'ok'
  readonly changes: readonly TraitChange[]
  readonly device: DeviceFacts
  readonly droppedTraits: readonly string[]
  readonly filteredFields: readonly string[]
}

/**
 * Drops disabled slugs and known fields that the project does not keep from `$deviceInfo` and every operator. A device
 * field inside an operator becomes a device fact (decisions.md, Identify, allow-list).
 */
export function applyAllowList(
  project: Pick<ProjectPolicy, 'allowedFields' | 'disabledTraits'>,
  body: IdentifyBody,
): AllowedFields | Rejection {
  const droppedTraits = new Set<string>()
  const filteredFields = new Set<string>()
  const changes: TraitChange[] = []
  const inOperators = { overwrite: new Map<string, string>(), fallback: new Map<string, string>() }
  const keeps = (slug: string) => {
    if (project.disabledTraits.has(slug)) droppedTraits.add(slug)
    else if (!isCustomSlug(slug) && !project.allowedFields.has(slug)) filteredFields.add(slug)
    else return true
    return false
  }
  for (const change of body.changes) {
    const { operator, slug } = change
    if (isDeviceField(slug)) {
      const checked = checkDeviceChange(slug, change)
      if (checked.outcome === 'rejected') return checked
      const { deviceField } = TRAIT_OPERATORS[operator]
      if (checked.value !== undefined && (deviceField === 'overwrite' || deviceField === 'fallback'))
        inOperators[deviceField].set(slug, checked.value)
    }
    if (keeps(slug) && !isDeviceField(slug)) changes.push(change)
  }
  const facts = new Map([...inOperators.fallback, ...inOperators.overwrite, ...Object.entries(body.device)])
  const device = [...facts].filter(([field]) => keeps(field))
  return {
    outcome: 'ok',
    changes,
    device: Object.fromEntries(device),
    droppedTraits: [...droppedTraits],
    filteredFields: [...filteredFields],
  }
}

/**
 * Returns the properties for an event's record, without the known fields at the top level that the project does not keep
 * (decisions.md, Track event). Without `properties` the record has neither member.
 */
export function applyAllowListToProperties(
  { allowedFields }: Pick<ProjectPolicy, 'allowedFields'>,
  properties: JsonObject | undefined,
): Pick<EventTracked, 'properties' | 'filteredFields'> {
  if (!properties) return {}
  const isFiltered = (name: string) => !isCustomSlug(name) && !allowedFields.has(name)
  const filteredFields = Object.keys(properties).filter(isFiltered)
  if (filteredFields.length === 0) return { properties }
  // `Object.fromEntries` makes own properties of every name, `__proto__` included.
  const kept = Object.entries(properties).filter(([name]) => !isFiltered(name))
  return { properties: Object.fromEntries(kept), filteredFields }
}
