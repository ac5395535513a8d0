import { BODY_LIMITS, isLongerThan, PII_FIELDS, type TraitValue } from '@nextvisit/contracts'
import type { ProjectPolicy } from '../project-policy.ts'
import { isJsonObject } from '../bodies/json-object.ts'
import { checkTraitValue } from '../bodies/trait-operations-body.ts'

const personalFields: ReadonlySet<string> = new Set(PII_FIELDS)

interface SegmentComTraits {
  /** Every name is an own property, `__proto__` included. */
  readonly $set: Readonly<Record<string, TraitValue>>
  /** Number of values that no trait can hold, and of names that no trait can have. */
  readonly dropped: number
}

/**
 * Flattens `traits`: `{ company: { plan: 'pro' } }` becomes the trait `company.plan`. Drops personal fields that the project
 * does not keep, with everything in them, and names that are too long. Reading ends at one trait more than an identify may
 * have, which then refuses it. Recursive: the caller must have checked the depth.
 */
export function traitsOf(traits: unknown, { allowedFields }: Pick<ProjectPolicy, 'allowedFields'>): SegmentComTraits {
  const set = new Map<string, TraitValue>()
  let dropped = 0
  const read = (slug: string, value: unknown) => {
    if (set.size > BODY_LIMITS.traitOperations) return
    if (isLongerThan(slug, BODY_LIMITS.traitKeyLength)) dropped += 1
    else if (isJsonObject(value)) {
      if (personalFields.has(slug) && !allowedFields.has(slug)) dropped += 1
      else for (const [name, inner] of Object.entries(value)) read(`${slug}.${name}`, inner)
    } else if (slug === '' || checkTraitValue(value)) dropped += 1
    else set.set(slug, value as TraitValue)
  }
  if (isJsonObject(traits)) for (const [name, value] of Object.entries(traits)) read(name, value)
  return { $set: Object.fromEntries(set), dropped }
}
